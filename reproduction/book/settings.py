"""One table of the settings of every model: what the paper names, what ran here, and why it differs."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .. import checkout
from ..evidence import grid, strict, words
from . import render

LEFT_OPEN = ("activation", "train.steps", "train.value_lr", "train.weight_lr", "train.weight_decay", "train.batch_size",
             "train.epochs", "init_std", "scale", "hidden")                # settings that the paper may leave open
COMMENT = re.compile(r"((?:^#.*\n)+)([\w-]+):", re.MULTILINE)


def includes() -> dict[str, str]:
    """``settings.html``, from ``config/models.yaml`` with its comments and ``config/paper-grid.yaml``."""
    file = checkout.part("config") / "models.yaml"
    why = {name: " ".join(line.removeprefix("#").strip() for line in text.splitlines())
           for text, name in COMMENT.findall(file.read_text(encoding="utf-8"))}
    kinds, called = dict[str, dict[str, Any]](), words.load().words
    for name, model in strict.read_yaml(file).items():
        own = f"{model['topology']['constructor']} graph" if model["kind"] == "pcgraph" else model["kind"]
        title, entry = grid.entry(model) or (called.get(own, own.replace("_", " ").replace("-", " ")), None)
        kind = kinds.setdefault(title, {"title": title, "entry": entry, "models": {}})
        kind["models"][name] = model
    rows = {title: _rows(kind["entry"], kind["models"]) for title, kind in kinds.items()}
    return {"settings.html": render.template("settings.html", kinds=kinds.values(), rows=rows, why=why)}


def _rows(entry: grid.Entry | None, models: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each setting that the paper names, and one for those that it leaves open."""
    named = entry.named() if entry else {}
    rows = [{"setting": grid.WORDS[key], "paper": said, "here": _values(models.values(), key, entry)}
            for key, said in named.items()]
    left = {grid.WORDS[key]: _values(models.values(), key, None) for key in LEFT_OPEN if key not in named}
    rows.append({"setting": "left open", "paper": "", "here": [
        (f"{said} {', '.join(text for text, _ in values)}", False) for said, values in left.items() if values]})
    return [row for row in rows if row["here"]]


def _values(models: Iterable[Mapping[str, Any]], key: str, entry: grid.Entry | None) -> list[tuple[str, bool]]:
    """The values that a setting has in some models, and whether each is one that the paper does not name."""
    found = {grid.in_words(value): entry is not None and entry.excludes(key, value) for model in models
             if (value := grid.value(model, key)) is not None}
    return sorted(found.items(), key=lambda one: one[1])
