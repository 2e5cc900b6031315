"""Write the licence of each locked package, as its own metadata has it, into ``book/licences.csv``.

    python scripts/list_licences.py          # after `make lock` has changed a version
"""

import csv
import re
from importlib import metadata

from packaging.requirements import Requirement

from pcgraph_lite.files import write_aside
from reproduction.checkout import ROOT

CLASSIFIER = "License :: OSI Approved :: "
LONGEST = 60                                                               # letters of a licence that are shown


def licence(package: str) -> str:
    """What a package that is installed here says of itself."""
    about = metadata.metadata(package)
    named = [text.removeprefix(CLASSIFIER) for text in about.get_all("Classifier", []) if text.startswith(CLASSIFIER)]
    text = about.get("License-Expression") or ", ".join(named) or (about.get("License") or "").partition("\n")[0]
    return text if 0 < len(text) <= LONGEST else f"{text[:LONGEST]} …" if text else "not said"


def main() -> None:
    """One row a package that is locked for this machine."""
    locked = map(Requirement, re.findall(r"(?m)^(\w[^\\\n]*) \\$", (ROOT / "requirements.txt").read_text()))
    rows = [(one.name, str(one.specifier)[2:], licence(one.name)) for one in locked
            if not one.marker or one.marker.evaluate()]
    with write_aside(ROOT / "book/licences.csv") as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("package", "version", "licence"), *rows])


if __name__ == "__main__":
    main()
