"""One table of the settings of every model: what the paper names, what ran here, and why it differs."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .. import checkout
from ..evidence import grid
from ..evidence.strict import read_yaml
from . import render

OPEN = ("activation", "train.steps", "train.value_lr", "train.weight_lr", "train.weight_decay", "train.batch_size",
        "train.epochs", "init_std", "scale", "hidden")                     # settings that the paper may leave open
COMMENT = re.compile(r"((?:^#.*\n)+)([\w-]+):", re.MULTILINE)


def includes(words: Mapping[str, str]) -> dict[str, str]:
    """``settings.html``, from ``config/models.yaml`` with its comments and ``config/paper-grid.yaml``. ``words``:
    readers' words for kinds of model of which the paper names no settings.
    """
    file = checkout.part("config") / "models.yaml"
    why = {name: " ".join(line.removeprefix("#").strip() for line in text.splitlines())
           for text, name in COMMENT.findall(file.read_text(encoding="utf-8"))}
    kinds: dict[str, dict[str, Any]] = {}
    for name, model in read_yaml(file).items():
        found = grid.entry(model)
        title = model["kind"]
        if found:
            title = found[0]
        else:                                                              # the paper names no settings of its kind
            own = f"{model['topology']['constructor']} graph" if title == "pcgraph" else title
            title = words.get(own, own.replace("_", " ").replace("-", " "))
        kind = kinds.setdefault(title, {"entry": found and found[1], "models": {}})
        kind["models"][name] = model
    return {"settings.html": render.template("settings.html", kinds=[
        {"title": title, "place": one["entry"].place.partition('"')[0].strip(" ,") if one["entry"] else "",
         "rows": _rows(**one), "why": {name: why[name] for name in one["models"] if name in why}}
        for title, one in kinds.items()])}


def _rows(entry: grid.Entry | None, models: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each setting that the paper names, and one for those that it leaves open."""
    named = entry.named() if entry else {}
    rows = [{"setting": grid.WORDS[key], "paper": said, "here": _values(models.values(), key, entry)}
            for key, said in named.items()]
    left = {grid.WORDS[key]: _values(models.values(), key, None) for key in OPEN if key not in named}
    rows.append({"setting": "left open", "paper": "", "here": [
        (f"{words} {', '.join(text for text, _ in values)}", False) for words, values in left.items() if values]})
    return [row for row in rows if row["here"]]


def _values(models: Iterable[Mapping[str, Any]], key: str, entry: grid.Entry | None) -> list[tuple[str, bool]]:
    """The values that a setting has in some models, and whether each is one that the paper does not name."""
    found = {grid.in_words(value): entry is not None and entry.excludes(key, value) for model in models
             if (value := grid.value(model, key)) is not None}
    return sorted(found.items(), key=lambda one: one[1])
