"""The API reference shows every public name. Oracle: the package itself, and what the notebooks call."""

import re
from pathlib import Path
from types import ModuleType

import pcgraph_lite
from pcgraph_lite.images import datasets, metrics
from reproduction.checkout import ROOT

PAGE = (ROOT / "book/api.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^\.\. auto(?:function|class):: pcgraph_lite\.(\S+)", PAGE, re.MULTILINE)
WHOLE = re.findall(r"^\.\. automodule:: pcgraph_lite\.(\S+)", PAGE, re.MULTILINE)


def functions(module: ModuleType) -> set[str]:
    """The public functions that a module defines."""
    return {name for name, one in vars(module).items()
            if callable(one) and getattr(one, "__module__", "") == module.__name__ and not name.startswith("_")}


def test_every_public_name_is_on_the_page_once() -> None:
    public = {name: getattr(pcgraph_lite, name) for name in pcgraph_lite.__all__}
    modules = {name for name, one in public.items() if isinstance(one, ModuleType)}
    assert public.keys() - modules <= set(SHOWN) and len(set(SHOWN)) == len(SHOWN)
    assert modules - {"topology"} <= set(WHOLE)
    made_of = {"Topology", "Edges", "slices", "listed", "constructor"}
    makers = functions(pcgraph_lite.topology) - made_of
    assert {f"topology.{name}" for name in makers} == {name for name in SHOWN if name.startswith("topology.")}


def test_all_other_models_and_studies_are_on_the_page() -> None:
    theirs = {f"{room}.{path.stem}" for room in ("baselines", "studies")
              for path in Path(pcgraph_lite.__file__).parent.glob(f"{room}/[!_]*.py")}
    assert len(theirs) > 10 and theirs == {name for name in WHOLE if name.startswith(("baselines", "studies"))}


def test_what_notebooks_call_of_images_is_on_the_page() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in Path(ROOT / "notebooks").glob("*.md"))
    for module in (datasets, metrics):
        room = module.__name__.removeprefix("pcgraph_lite.")
        called = set(re.findall(rf"\b{module.__name__.rpartition('.')[2]}\.(\w+)", text)) & functions(module)
        assert called and (room in WHOLE or {f"{room}.{name}" for name in called} <= set(SHOWN))
