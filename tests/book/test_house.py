"""The picture of the house is that of the code. Oracle: the files on disk and the import lines in them."""

import re
from importlib import metadata
from pathlib import Path

from reproduction.book import house
from reproduction.checkout import ROOT

PACKAGES = [ROOT / name for name in ("pcgraph_lite", "reproduction")]
IMPORT = r"^\s*from (\.\.|pcgraph_lite\.)({0}[ .]| import .*\b{0}\b)"


def test_every_file_lives_in_one_room() -> None:
    rooms, _ = house.imports()
    files = [path.stem for package in PACKAGES for path in package.rglob("*.py") if not path.stem.startswith("__")]
    assert sorted(files) == sorted(file for room in rooms.values() for file in room)
    folders = {path.parent.name for package in PACKAGES for path in package.glob("*/__init__.py")}
    assert {"cli", "ground"} | folders == set(rooms)


def test_arrows_are_the_import_lines() -> None:
    """Between two rooms there is an arrow where a file of the one names the other, as thick as there are such files."""
    rooms, uses = house.imports()
    for room in rooms.keys() - {"cli", "ground"}:
        for other in rooms.keys() - {"cli", "ground", room}:
            named = [path for package in PACKAGES for path in (package / room).glob("*.py")
                     if re.search(IMPORT.format(other), path.read_text(encoding="utf-8"), re.MULTILINE)]
            assert uses[room, other] == len(named), (room, other)


def test_who_does_not_see_the_picture_reads_the_same(tmp_path: Path) -> None:
    text = house.includes(tmp_path)["house.md"]
    alt = re.search(r"^:alt: (.*)$", text, re.MULTILINE).group(1)
    for user, used in house.imports()[1]:
        assert re.search(rf"\b{user} uses [^;]*\b{used}\b", alt)
    assert "generated/house.svg" in text and (tmp_path / "house.svg").read_text(encoding="utf-8").count("<path") > 20


def test_the_design_page_says_what_each_room_is_for() -> None:
    page = (ROOT / "book/design.md").read_text(encoding="utf-8")
    rooms, _ = house.imports()
    assert all(f"`{room}/`" in page for room in rooms.keys() - {"cli", "ground"}) and "`cli.py`" in page
    assert all(f"`{file}.py`" in page for file in rooms["ground"])


def test_every_package_of_this_machine_has_its_version_and_its_licence() -> None:
    """As the packages that are installed say themselves."""
    table = house.licences().set_index("package")
    assert table.loc["torch", "version"] == metadata.version("torch").partition("+")[0]
    assert table.loc["pydantic", "licence"] == "MIT" and len(table) > 100 and not (table == "").any(axis=None)
