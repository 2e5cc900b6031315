"""The page "Audit" has every package with its licence. Oracle: what the packages that are installed say themselves."""

from importlib import metadata

from reproduction.book.runs import licences


def test_every_package_of_this_machine_has_its_version_and_its_licence() -> None:
    table = licences().set_index("package")
    assert table.loc["torch", "version"] == metadata.version("torch").partition("+")[0]
    assert table.loc["pydantic", "licence"] == "MIT" and len(table) > 100 and not (table == "").any(axis=None)
