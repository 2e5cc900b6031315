"""Run a notebook: MyST Markdown -> checked parameters -> papermill -> an executed notebook. Its first code cell, tagged
``parameters``, declares every parameter in a line of its own: name, type, value, and in a comment what it is.
"""

import ast
import contextlib
import hashlib
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupytext.myst import MystMetadataParsingError
from nbformat import NotebookNode
from pydantic import TypeAdapter, ValidationError
from yaml import YAMLError

from pcgraph_lite import hardware
from pcgraph_lite.errors import BadFile, BadInput, PCGraphError, one_of, shown, unknown
from pcgraph_lite.files import FULL, placed, read_text, ready, write_aside

from .. import checkout
from ..evidence import cards, config, records, strict, zoo

TYPES = {"int": int, "float": float, "str": str, "bool": bool, "list[int]": list[int], "list[float]": list[float],
         "list[str]": list[str]}
FOLDERS = ("PCGRAPH_DATA", "PCGRAPH_CACHE", "XDG_CACHE_HOME", "PCGRAPH_INCEPTION")
FREE = ("device", "seed", "seeds")                                         # may differ from the claims' run
OF_THE_CHECKOUT = ("benchmarks", "book", "config", "notebooks", "pcgraph_lite", "reproduction", "results", "scripts",
                   "tests")
OWN_OPTION = {"profile": "--profile", "out": "--out"}      # parameters with an option of their own
MOST = 10**9                                                               # of every number
LONGEST_NAME = 120                                                         # of a folder; systems allow 255 bytes


@dataclass(frozen=True)
class Parameter:
    """One parameter of the parameters cell. ``help``: its comment."""

    type: str
    default: Any
    help: str


def source(name: str) -> Path:
    """The file of a notebook. Raises UnknownName, with the nearest name."""
    one_of("notebook", name, config.notebook_names())
    return checkout.ROOT / "notebooks" / f"{name}.md"


def models(name: str, listed: Sequence[str] = ("models", "cards")) -> dict[str, str]:
    """The models in a notebook's front matter -> the parameter that says how many of their seeds are used, usually
    ``seeds``. Those listed under ``cards`` need no weights where they have a card. Raises BadFile, BadInput.
    """
    front, found = _read(name).metadata, dict[str, str]()
    for key in listed:
        for entry in strict.validated(list[str | dict[str, str]], front.get(key) or [], source(name), f"{key}."):
            found |= entry if isinstance(entry, dict) else {entry: "seeds"}
    strict.refuse_unknown(source(name), "model", found, strict.read_yaml(config.models_file()))
    return found


def seeds(name: str, settings: config.Profile, count: str = "seeds") -> list[int]:
    """The seeds that a notebook uses in a profile: as many as its parameter ``count`` says, or 1 without it."""
    values = resolve(name, settings, {})
    return list(range(values.get("seed", 0), values.get("seed", 0) + values.get(count, 1)))


def weights(name: str, settings: config.Profile) -> list[tuple[str, int]]:
    """The models and seeds whose weights a notebook needs in a profile. A committed card can replace them."""
    wanted, asked = models(name), models(name, ["models"])
    return [(model, seed) for model, count in wanted.items() for seed in seeds(name, settings, count)
            if model in asked or not cards.is_committed(zoo.ModelRun(model, settings.name, seed))]


def cells(name: str) -> list[NotebookNode]:
    """The code cells of a notebook in order. Raises BadFile."""
    return [cell for cell in _read(name).cells if cell.cell_type == "code"]


def _read(name: str) -> NotebookNode:
    try:
        return _parsed(read_text(source(name)))
    except (YAMLError, MystMetadataParsingError) as error:
        raise BadFile(f"notebooks/{name}.md is not valid YAML: {' '.join(str(error).split())}") from error


_parsed = lru_cache(partial(jupytext.reads, fmt="md:myst"))                # one command reads a notebook many times


def parameters(name: str) -> dict[str, Parameter]:
    """The parameters that a notebook declares, by name. Raises BadFile: no parameters cell, or a line without type."""
    cell = next((one for one in cells(name) if "parameters" in one.metadata.get("tags", [])), None)
    if cell is None:
        raise BadFile(f"notebooks/{name}.md has no code cell with the tag 'parameters'.")
    lines, found = cell.source.splitlines(), {}
    for node in ast.parse(cell.source).body:
        if (not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name)
                or ast.unparse(node.annotation) not in TYPES or node.value is None):
            raise BadFile(f"notebooks/{name}.md: expected 'name: type = value' with a type of {', '.join(TYPES)}; "
                          f"got {lines[node.lineno - 1]!r}.")
        found[node.target.id] = Parameter(ast.unparse(node.annotation), ast.literal_eval(node.value),
                                          lines[(node.end_lineno or node.lineno) - 1].partition("#")[2].strip())
    return found


def resolve(name: str, settings: config.Profile, given: Mapping[str, object]) -> dict[str, Any]:
    """The value of every parameter of a run: the given one, else the profile's, else the notebook's own. Text is read
    as the declared type. Raises UnknownName; BadInput: a value of another type.
    """
    known = parameters(name)
    values = {key: parameter.default for key, parameter in known.items()}
    for origin, some in ((f"config/profiles/{settings.name}.yaml: notebooks.{name}", settings.notebooks.get(name, {})),
                         (f"notebook {name}", given)):
        values |= {key: _typed(known, key, value, origin) for key, value in some.items()}
    _require_within(name, values)
    return values | ({"profile": settings.name} if "profile" in known else {})


def run(name: str, profile: str = "laptop", given: Mapping[str, object] | None = None, out: str | Path = "") -> Path:
    """Check the call, then execute one notebook. Returns its file. ``given``: parameters that differ from the
    profile's. ``out``: folder for the notebook, records and figures; empty: ``_build/<profile>``, or with ``given`` one
    named after them. Raises UnknownName, BadInput, BadFile: a bad call. PCGraphError: a cell failed; NAME.failed.ipynb
    keeps what ran.
    """
    settings, given = config.load_profile(profile), dict(given or {})
    values = resolve(name, settings, given)
    models(name)                                                           # a misspelt one: refused at once, too
    hardware.pick_device(values.get("device", "auto"))                     # refused before anything runs
    usual, folder = checkout.ROOT / "_build" / profile, _folder(name, profile, given, out)
    for variable in FOLDERS:                                               # cells run in another working folder
        if os.environ.get(variable):
            os.environ[variable] = str(placed(os.environ[variable], variable))
    if "out" in values:
        values["out"] = "" if folder == usual else checkout.relative(folder)
    ready(folder / "records" / f"{name}.json")
    with contextlib.chdir(checkout.ROOT):
        made = _run_papermill(name, values, folder / ("notebooks" if folder == usual else "") / f"{name}.ipynb")
    records.note_parameters(folder / "records" / f"{name}.json", values)
    return made


def other_than_claimed(name: str, profile: str, given: Mapping[str, object]) -> dict[str, tuple[Any, Any]]:
    """The given parameters that differ from the run that decides the claims: name -> (value here, value there)."""
    decides = config.load_profile("paper" if "paper" in config.profile_names() else profile)
    claimed, here = (resolve(name, settings, some) for settings, some in (
        (decides, decides.published.get(name, {})), (config.load_profile(profile), given)))
    return {key: (here[key], claimed[key]) for key in given if here[key] != claimed[key] and key not in FREE}


def records_of(made: Path) -> Path:
    """The file of the records that ``run`` wrote, if it wrote any. ``made``: what it returned."""
    usual = [checkout.ROOT / "_build" / one / "notebooks" for one in config.profile_names()]
    return (made.parent.parent if made.parent in usual else made.parent) / "records" / f"{made.stem}.json"


def _typed(known: Mapping[str, Parameter], key: str, value: object, origin: str) -> Any:
    if key not in known:
        raise type(error := unknown("parameter", key, known))(f"{origin}: {error}")
    wanted, zero = known[key].type, known[key].default == 0 or "0: not run" in known[key].help
    least = 0 if zero or key.endswith("_seeds") or "int" not in wanted else 1      # of whole numbers, if 0 says nothing
    number = "int" in wanted or "float" in wanted
    try:
        read = value if not isinstance(value, str) or wanted == "str" else ast.literal_eval(
            value.title() if value.lower() in ("true", "false") else value)
        typed: Any = TypeAdapter(TYPES[wanted]).validate_python(read, strict=True)
        outside = number and any(not least <= one <= MOST for one in (typed if isinstance(typed, list) else [typed]))
        empty = typed in ("", []) and known[key].default                   # a page has nothing to show of nothing
        if outside or empty or (_digits(known[key].default) and not _digits(typed)):
            raise ValueError
        return typed
    except (ValidationError, ValueError, SyntaxError, RecursionError, MemoryError):
        limits = f" from {least} to {MOST:,}" * number + ", not empty" * (value in ("", [], "[]"))
        raise BadInput(f"{origin}: parameter {key!r} = {shown(value)}; expected {wanted}{limits}, for example "
                       f"{known[key].default!r}.") from None


def _digits(value: object) -> bool:
    """Whether it lists pairs of two digits, such as "7/9"."""
    return isinstance(value, list) and value != [] and all(re.fullmatch(r"(\d)/(?!\1)\d", str(one)) for one in value)


def _require_within(name: str, values: Mapping[str, Any]) -> None:
    """Raise BadInput beyond the front matter's ``limits``: the least and the most, null or another parameter."""
    limits = strict.validated(dict[str, tuple[float | str | None, float | str | None]],
                              _read(name).metadata.get("limits") or {}, source(name), "limits.")
    named = [bound for bounds in limits.values() for bound in bounds if isinstance(bound, str)]
    numbers = [key for key, value in values.items() if isinstance(value, int | float)]
    strict.refuse_unknown(source(name), "parameter", [*limits, *named], numbers)
    for key, bounds in limits.items():
        least, most = (values.get(bound, bound) for bound in bounds)
        if (least is not None and values[key] < least) or (most is not None and values[key] > most):
            said = [f"{word} {values.get(bound, bound):g}" + f" ({bound})" * (bound in values)
                    for word, bound in zip(("at least", "at most"), bounds, strict=True) if bound is not None]
            raise BadInput(f"notebook {name}: parameter {key!r} = {values[key]}; expected {' and '.join(said)}.")


def _folder(name: str, profile: str, given: Mapping[str, object], out: str | Path) -> Path:
    """The folder of a run: ``out``, else the usual one, or with parameters of its own one named after them. Raises
    BadInput: parameters that have an option, or a folder of other runs or of the project.
    """
    for key in OWN_OPTION.keys() & given.keys():
        raise BadInput(f"the parameter {key!r} is given by the option {OWN_OPTION[key]}, not by -p.")
    usual = checkout.ROOT / "_build" / profile
    folder = placed(out, "--out") if str(out) else _named_after(name, profile, given) if given else usual
    taken = [checkout.ROOT / one for one in (*OF_THE_CHECKOUT, *(f"_build/{one}" for one in config.profile_names()))]
    within = any(folder.is_relative_to(one) for one in taken)
    if folder == checkout.ROOT or (within and (given or folder != usual)):
        raise BadInput(f"--out {checkout.relative(folder)} is where other runs keep their records, or part of the "
                       "project. Leave out --out, or name a folder of the run's own.")
    return folder


def _named_after(name: str, profile: str, given: Mapping[str, object]) -> Path:
    parts = "_".join([profile, *(f"{key}-{given[key]}" for key in sorted(given))])
    plain = re.sub(r"[\[\]]|(?<=,) ", "", parts)                           # lists
    slug = re.sub(r"[^\w.,-]+", "", plain)
    if slug != plain or len(slug) > LONGEST_NAME:                          # a hash tells shortened names apart
        slug = f"{slug[:LONGEST_NAME]}-{hashlib.sha256(parts.encode()).hexdigest()[:8]}"
    return checkout.ROOT / "_build" / "runs" / name / slug


def _run_papermill(name: str, values: Mapping[str, Any], target: Path) -> Path:
    """Execute with papermill and write ``target``. What a failed run made is kept beside it as NAME.failed.ipynb."""
    import papermill  # only here: the import takes seconds
    failed = target.with_name(f"{name}.failed.ipynb")
    with write_aside(target) as part:
        try:
            # papermill fills in names in braces, and warns because .part is no ending of a notebook
            path = checkout.relative(part).replace("{", "{{").replace("}", "}}")
            with warnings.catch_warnings(action="ignore"):
                done = papermill.execute_notebook(_read(name), path, dict(values), kernel_name="python3", cwd=".",
                                                  kernel_manager_class=_own_kernel(), progress_bar=True,
                                                  stderr_file=sys.stderr,          # what a cell trains
                                                  extra_arguments=["--log-level=CRITICAL"])
        except Exception as error:
            if isinstance(error, OSError) and error.errno in FULL:         # what ran could not be written whole
                raise
            if ran := part.exists():
                part.replace(failed)
            raise PCGraphError(_failure(name, error, failed if ran else None)) from error
        done.metadata.papermill |= {"input_path": f"notebooks/{name}.md", "output_path": checkout.relative(target)}
        nbformat.write(done, part)
    failed.unlink(missing_ok=True)
    return target


def _own_kernel() -> type:
    """A manager that starts this Python as the kernel "python3", whatever JUPYTER_PATH or user folders define."""
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    inline = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}   # a shell's own leaves pages without pictures
    spec = KernelSpec(argv=command, display_name="Python 3", language="python", env=inline)
    return type("OwnKernel", (AsyncKernelManager,), {"kernel_spec": spec})


def _failure(name: str, error: Any, failed: Path | None) -> str:
    kept = f"What ran until then is kept in {checkout.relative(failed)}." if failed else "No cell was run."
    if not hasattr(error, "ename"):
        return f"notebook {name} stopped: {type(error).__name__}: {error}. {kept}"
    trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback)).strip().splitlines()
    return (f"notebook {name} failed in code cell {error.exec_count}: {error.ename}: {error.evalue}\n"
            + "\n".join(trace[-15:-1]) + f"\n{kept}")
