"""The licences of the packages that the book is made with, as the packages say themselves when it is built."""

import re
from importlib import metadata

import pandas as pd
from packaging.requirements import Requirement

from ..checkout import ROOT

LONGEST = 60                                                               # letters of a licence that are shown


def licences() -> pd.DataFrame:
    """Every package that is locked for this machine: package, version, licence."""
    locked = map(Requirement, re.findall(r"(?m)^(\w[^\\\n]*) \\$", (ROOT / "requirements.txt").read_text()))
    return pd.DataFrame([{"package": one.name, "version": str(one.specifier)[2:], "licence": _licence(one.name)}
                         for one in locked if not one.marker or one.marker.evaluate()])


def _licence(package: str) -> str:
    try:
        about, prefix = metadata.metadata(package), "License :: OSI Approved :: "
    except metadata.PackageNotFoundError:
        return "not installed where this page was built"
    named = [text.removeprefix(prefix) for text in about.get_all("Classifier", []) if text.startswith(prefix)]
    text = about.get("License-Expression") or ", ".join(named) or (about.get("License") or "").partition("\n")[0]
    return text if 0 < len(text) <= LONGEST else f"{text[:LONGEST]} …" if text else "not said"
