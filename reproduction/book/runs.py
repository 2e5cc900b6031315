"""The page "Audit": the run behind each page, which stands under its title, too, and the licence of each package."""

import json
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd
from packaging.requirements import Requirement

from ..checkout import ROOT
from ..evidence.records import PACKAGES
from .handover import DASH

ALIKE = ("profile", "device", "versions", "numerics")      # equal columns of the ledger become a sentence
LONGEST = 60                                               # letters of a licence that are shown


def of(record: Path) -> dict[str, str]:
    """The facts of the run behind a page, in Markdown, from its file of records; nothing if it keeps none."""
    if not record.is_file():
        return {}
    saved = json.loads(record.read_text(encoding="utf-8"))
    known = saved["provenance"]
    return {"profile": escaped(saved["profile"]), "device": escaped(known["device"]),
            "seconds": f"{known['seconds']:.0f}", "memory": escaped(known["memory"]), **origin(known),
            "numerics": f"`{known['numerics']}`"}


def origin(run: Mapping[str, Any]) -> dict[str, str]:
    """When and with what a run was made, in Markdown: its date to the minute, commit and versions."""
    commit = re.sub(r"[^0-9a-z]", "", str(run["commit"]))[:9]
    versions = ", ".join(f"{name} {run[name]}" for name in ("python", *PACKAGES) if name in run)
    return {"date": str(run["date"])[:16].replace("T", " "),
            "commit": f"`{commit}`" + " with changes" * bool(run.get("dirty")), "versions": escaped(versions)}


def ledger(runs: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """``ledger.csv`` with one row per page that ran, and ``ledger.md``, a sentence with what all rows share."""
    rows = pd.DataFrame([{"page": f"{{doc}}`notebooks/{name}`"} | dict(run) for name, run in runs.items()])
    rows = rows.replace("", pd.NA).dropna(axis=1, how="all").fillna(DASH)
    alike = [key for key in ALIKE if key in rows and len(rows) > 1 and rows[key].nunique() == 1]
    said = "; ".join(f"{key} {rows[key].iloc[0]}" for key in alike)
    return {"ledger.md": f"All pages share this: {said}.\n" if alike else "",
            "ledger.csv": rows.drop(columns=alike).to_csv(index=False)}


def escaped(text: object) -> str:
    """The text on one line, escaped for Markdown."""
    return re.sub(r"([\\`*_\[\]<>${}#])", r"\\\1", " ".join(str(text).split()))


def licences() -> pd.DataFrame:
    """Every package that is locked for this machine: package, version, licence."""
    locked = map(Requirement, re.findall(r"(?m)^(\w[^\\\n]*) \\$", (ROOT / "requirements.txt").read_text()))
    return pd.DataFrame([{"package": one.name, "version": str(one.specifier)[2:], "licence": _licence(one.name)}
                         for one in locked if not one.marker or one.marker.evaluate()])


def _licence(package: str) -> str:
    try:
        said, prefix = metadata.metadata(package).get_all, "License :: OSI Approved :: "
    except metadata.PackageNotFoundError:
        return "not installed where this page was built"
    named = ", ".join(text.removeprefix(prefix) for text in said("Classifier", []) if text.startswith(prefix))
    text = [*said("License-Expression", []), ""][0] or named or [*said("License", []), ""][0].partition("\n")[0]
    return text if 0 < len(text) <= LONGEST else f"{text[:LONGEST]} …" if text else "not said"
