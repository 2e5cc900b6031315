"""The labels of the list of references."""

import re

from pybtex.database import parse_file

from reproduction.book import citations
from reproduction.checkout import ROOT


def test_labels_are_last_names_and_the_year() -> None:
    entries = parse_file(ROOT / "book/references.bib").entries
    labels = dict(zip(entries, citations.Labels().format_labels(entries.values()), strict=True))
    assert labels["hopfield1982"] == "Hopfield, 1982"
    assert labels["rao1999"] == "Rao and Ballard, 1999"
    assert labels["salvatori2022graphs"] == "Salvatori et al., 2022"
    both = [labels["innocenti2024"], labels["innocenti2024jpc"]]
    assert both == ["Innocenti et al., 2024a", "Innocenti et al., 2024b"]
    assert len(set(labels.values())) == len(labels), "two entries cannot be told apart"
    assert all(re.search(r", \d{4}[a-z]?$", label) for label in labels.values())
