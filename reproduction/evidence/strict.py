"""Read YAML files into strict schemas, which refuse what they do not know, without waiting for torch."""

import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from pcgraph_lite.errors import BadFile, BadInput, shown, unknown
from pcgraph_lite.files import read_text

from .. import checkout

LARGEST = 2**20                                                            # bytes of a file
_adapter = lru_cache(maxsize=32)(TypeAdapter)                              # of a schema; making one takes long


class Strict(BaseModel):
    """Base of every schema: no unknown keys (errors name the nearest), no conversions, no infinite numbers or NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        known = cls.model_fields
        for key in values if isinstance(values, Mapping) else ():
            if key not in known:
                raise unknown("key", key, known)
        return values


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping from a file, shared between callers. Raises BadFile: the file is missing or has no mapping."""
    return mapping(path, text_of(path))


def text_of(path: Path) -> str:
    try:
        return read_text(path, LARGEST)
    except BadFile as error:
        raise BadFile(f"{str(error).replace(str(path), checkout.relative(path))}.") from error


@lru_cache(maxsize=32)
def mapping(path: Path, text: str) -> dict[str, Any]:
    """A YAML mapping from the text of a file. Raises BadFile: it is no mapping."""
    try:
        content = yaml.load(text, Loader=_Loader)                          # a safe loader (below)
    except (yaml.YAMLError, ValueError) as error:                          # a ValueError: an impossible date
        why = " ".join(str(error).split())[:500]
        raise BadFile(f"{checkout.relative(path)} is not valid YAML: {why}") from error
    if not isinstance(content, dict):
        raise BadFile(f"{checkout.relative(path)} holds {type(content).__name__}; expected a mapping of keys to "
                      "values.")
    return content


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml's where PyYAML has it
    """A loader that reads 1e-4 as a number (YAML 1.1 requires 1.0e-4) and refuses a key given twice."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Called for every mapping, and again for one that another merges; by then it may have merged a key twice."""
        first: dict[str, int] = {}
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = [key for k, key in enumerate(keys) if first.setdefault(key.value, k) < k]
        if twice and not hasattr(node, "checked"):
            said = f"the key {twice[0].value!r} is given twice"
            raise yaml.constructor.ConstructorError(None, None, said, twice[0].start_mark)
        node.checked = True
        super().flatten_mapping(node)


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+"),
                              list("-+0123456789"))


def merged(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with the entries of ``override``: mappings are merged key by key, everything else is replaced."""
    both = {key: merged(base[key], value) if isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
            else value for key, value in override.items()}
    return {**base, **both}


def changed(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with other values of some dotted keys, such as ``train.steps``."""
    for key, value in values.items():
        for name in reversed(key.split(".")):
            value = {name: value}
        base = merged(base, value)
    return dict(base)


def crossed(grids: Iterable[Mapping[str, Collection[Any]]]) -> list[dict[str, Any]]:
    """Every point of some grids, one after the other: each key with one of its values, for ``changed``."""
    return [dict(zip(grid, values, strict=True)) for grid in grids for values in itertools.product(*grid.values())]


def value_of(settings: Mapping[str, Any], key: str) -> Any:
    """The value of a dotted key; None if the settings have no such key."""
    value: Any = settings
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def validated(schema: Any, values: Any, path: Path, prefix: str = "") -> Any:
    """``values`` read as ``schema``. Raises BadInput with the file, the key, what was expected and the nearest name."""
    try:
        return _adapter(schema).validate_python(values)
    except ValidationError as error:
        raise in_file(path, *(explain(one, prefix) for one in error.errors()[:10])) from None


def refuse_unknown(path: Path, kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise BadInput, naming the file and the nearest name, if one of the given names is unknown."""
    for name in given:
        if name not in known:
            raise in_file(path, unknown(kind, name, known))


def explain(error: Mapping[str, Any], prefix: str) -> str:
    """One of pydantic's errors as 'key: what was expected; got ...'."""
    where = prefix + ".".join(str(part) for part in error["loc"])
    message = error["msg"].removeprefix("Value error, ")
    got = "" if isinstance(error["input"], Mapping) else f"; got {shown(error['input'])}"
    return f"{where}: " * bool(where) + f"{message[0].lower()}{message[1:]}{got}"


def in_file(path: Path, *problems: object) -> BadInput:
    return BadInput("\n".join(f"{checkout.relative(path)}: {problem}" for problem in problems))
