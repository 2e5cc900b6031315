"""The table of settings. Oracle: the grid's own departures, and the files as they are read here."""

from bs4 import BeautifulSoup

from reproduction.book import settings
from reproduction.checkout import ROOT
from reproduction.evidence import grid
from reproduction.evidence.strict import read_yaml

MODELS = read_yaml(ROOT / "config/models.yaml")
TABLE = BeautifulSoup(settings.includes()["settings.html"], "html.parser")


def rows(title: str) -> dict[str, tuple[str, set[str]]]:
    """Setting -> the paper's cell and the values here that it does not name, of a kind of model."""
    body = next(one for one in TABLE.find_all("tbody") if one.th.get_text().startswith(title))
    return {row.th.get_text(): (row.td.get_text(), {bold.get_text() for bold in row.find_all("b")})
            for row in body.find_all("tr") if row.find("th", scope="row")}


def test_what_the_paper_does_not_name_is_bold_and_nothing_else_is() -> None:
    for name, entry in grid.load().items():
        mine = [model for model in MODELS.values() if (found := grid.entry(model)) and found[0] == name]
        told = {said for model in mine for said in grid.departures(model)}
        bold = {f"{setting} {text} (the paper names {paper})"
                for setting, (paper, outside) in rows(name[0].upper() + name[1:]).items() for text in outside}
        assert bold == told, (name, entry.place)


def test_every_kind_of_model_has_a_row_and_its_reasons() -> None:
    text = TABLE.get_text(" ")
    assert "Restricted Boltzmann machine" in text and "learning rate 0.001" in text
    assert "value steps complete better than fifteen" in text          # a comment of config/models.yaml
    assert rows("Assemblies")["top-k"] == ("0.2", set())
