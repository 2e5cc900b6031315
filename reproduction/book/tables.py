"""What the book's prose pages show of the results: tables as CSV and the lead picture, made from records and notebooks.

Pages pull these files in, so that no number is typed. Cells are Markdown.
"""

import base64
import json
import math
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from pcgraph_lite.images import metrics

from ..evidence import claims, decimals, findings, records
from ..evidence.cards import Card
from ..evidence.records import PACKAGES
from ..evidence.verdicts import failed, scorecard
from ..evidence.verdicts import verdicts as judged
from ..evidence.zoo import Trained
from .plots import named

if TYPE_CHECKING:
    from nbformat import NotebookNode  # not there where notebooks run with --plain
    from pydantic import BaseModel

BADGES = {"reproduced": "reproduced", "partly": "partly", "not reproduced": "not", "preliminary": "preliminary",
          "not run": "not-run", "not comparable": "not-comparable"}          # verdict -> class of its badge in book.css
BESIDE = "beside the simple rival"
# In HTML: a cell with its column, the title of a column. In cells: settings, models, measures as the code names them.
CELL = re.compile(r'(<t([hd])(?:[^>]*?(col\d+)?")? *>)(.*?)(?=</t[hd]>)', re.DOTALL)
TITLE = re.compile(r'<th[^>]*col_heading level0 (col\d+)" *>([^<]*)<')
SETTING = re.compile(r"\b[a-z]+_[a-z]+\b")
NAME = re.compile(r"(?<![\w-])[a-z]\w*(?:-\w+)*")
WHOLE = re.compile(r"^\d(?:\.\d+)?e\+\d+$")
TOLD = ("measured, and the rule", BESIDE, "what is missing for a final verdict", "check")     # columns with NAMEs
TITLES = {"mnist": "digits", "fashion": "clothing", "svhn": "house numbers", "cifar10": "colour photographs"}
MEASURES = {"mse": "MSE", "psnr": "PSNR", "ssim": "SSIM", "auroc": "AUROC", "fid": "FID", "frechet": "Fréchet"}
DASH = "—"
SWITCHES = {"True": "yes", "False": "no"}
ALIKE = ("profile", "device", "versions", "numerics")      # columns of the ledger that become a sentence where alike
PEERS = {"fabricpc": "FabricPC", "pcx": "PCX"}              # in the table of other projects
BENCHED = {"cpu": "On a CPU", "cuda": "On a GPU"}             # device -> heading
INSIDE = re.compile(r"\[([^\[\]]*)\]")              # which records a check looks at
RULED = re.compile(r"\b(?:at least|at most|near|within) [\d.]+ %(?: ± [\d.]+ %)?")
SHARE = re.compile(r"[\d.]+(?= %)")
NEAR = re.compile(r"near ([\d.]+ %) ± ([\d.]+) %( or more)?")
WITHIN = re.compile(r"within ([\d.]+) % of")
ENDED = re.compile(r"\bfixed point (judge agreement|improved share|\w+)")   # what the query's last step has
CORRUPTED = re.compile(r"\bcorruption (?:half|plain noise|noise)\b")
FAILING = re.compile(r"(one|worst) of (\d+) such cases in (\d+)")          # as earlier runs said it
HOLDS = re.compile(r"\b1 of (\d+) checks hold\b")
LONG = re.compile(r"^\d{4}$|(?<![\w.,])(?:\d{5,}|\d(?:\.\d+)?e\+\d+)(?![\w.])")
RACED = re.compile(r"\b(quality)?-?\b(mnist|fashion)\b")
SCALING = "Time of a training batch against one size, the others fixed."
SLOPE = "A slope is the power of the number of edges with which time or memory grows."
BENCH = {"targets.csv": "Targets, and whether they are met.", "works.csv": "What was measured.",
         "times.csv": "Times of one batch or query.",
         "floor.svg": "Time over that of the bare products: the upright line is the floor.",
         "numbers.csv": "Ratios, memory and distances.",
         "scaling.csv": f"{SCALING} It grows as the size to the power of the fitted exponent.",
         "scaling.svg": f"{SCALING} Lines are powers, fitted to the larger half of the points."}


def write_ledger(folder: Path, records: Path, notebooks: "Mapping[str, NotebookNode]") -> None:
    """Write ``ledger.csv``, one row a notebook, and ``ledger.md``, a sentence with what is the same in all.

    Columns that no run knows are left out.
    """
    words = {"profile": str, "device": str, "seconds": "{:.0f}".format, "memory": str, "date": _date, "commit": str,
             "versions": str, "numerics": "`{}`".format}
    rows = []
    for name, notebook in notebooks.items():
        run = run_of(records / f"{name}.json", notebook)
        rows.append({"page": f"{{doc}}`notebooks/{name}`"}
                    | {key: word(run[key]) for key, word in words.items() if run.get(key) is not None})
    folder.mkdir(parents=True, exist_ok=True)
    kept = [key for key in ("page", *words) if any(key in row for row in rows)]
    ledger = pd.DataFrame(rows, columns=kept).fillna(DASH)
    alike = [key for key in ALIKE if key in kept and len(ledger) > 1 and ledger[key].nunique() == 1]
    said = "; ".join(f"{key} {ledger[key].iloc[0]}" for key in alike)
    (folder / "ledger.md").write_text(f"Alike in all: {said}.\n" if alike else "", encoding="utf-8")
    ledger.drop(columns=alike).to_csv(folder / "ledger.csv", index=False)


def write_lead(folder: Path, notebooks: "Mapping[str, NotebookNode]") -> None:
    """Write ``lead.md`` and ``lead.png``: the captioned figure tagged ``landing``, else the book's last captioned one.

    Without any such figure the page has no picture, and ``lead.md`` is empty.
    """
    figures = [(name, cell, out.data["image/png"]) for name, notebook in notebooks.items() for cell in notebook.cells
               if "figure" in cell.metadata.get("mystnb", {}) for out in cell.outputs
               if "image/png" in out.get("data", {})]
    figures.sort(key=lambda figure: "landing" in figure[1].metadata.get("tags", []))
    folder.mkdir(parents=True, exist_ok=True)
    text = ""
    if figures:
        name, cell, image = figures[-1]
        (folder / "lead.png").write_bytes(base64.b64decode(image))
        text = (f"```{{figure}} generated/lead.png\n:alt: {alt_text(cell)}\n:name: figure-lead\n\n"
                f"{_caption(cell)} From {{doc}}`notebooks/{name}`.\n```\n")
    (folder / "lead.md").write_text(text, encoding="utf-8")


def write_speed(folder: Path, results: Path) -> None:
    """Write ``speed.md`` and put the committed benchmark, ``results``, beside it: a section a device, and the peers.

    Where it is missing the page says how to measure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if results.is_dir():
        shutil.copytree(results, folder / "bench", dirs_exist_ok=True)
        for table in (folder / "bench").rglob("*.csv"):
            _readable(table)
    parts = []
    for device, heading in BENCHED.items():
        if (place := folder / "bench" / device).joinpath("bench.json").is_file():
            run = json.loads((place / "bench.json").read_text(encoding="utf-8"))["provenance"]
            parts += [f"## {heading}", _benched_by(run, "pcgraph bench")]
            parts += [_benched(f"{device}/{file}", _slopes(caption, place / file)) for file, caption in BENCH.items()
                      if (place / file).is_file()]
    if (folder / "bench/peers.csv").is_file():
        run = json.loads((folder / "bench/peers.json").read_text(encoding="utf-8"))
        parts += ["## Other projects", _benched_by(run, "python -m benchmarks.peers.compare"),
                  _benched("peers.csv", "The same works by packages from PyPI, compilation not timed.")]
    text = "\n\n".join(parts) or "No benchmark has been committed yet; `pcgraph bench` measures this machine."
    (folder / "speed.md").write_text(text + "\n", encoding="utf-8")
    found = [_speeds(file) for device in BENCHED if (file := folder / "bench" / device / "targets.csv").is_file()]
    (folder / "speed-lead.md").write_text("\n\n".join(found) + "\n", encoding="utf-8")


def _speeds(targets: Path) -> str:
    """What a benchmark found, in two sentences: the ratios to the bare products, and which targets are met."""
    asked = pd.read_csv(targets, dtype=str, keep_default_na=False)
    asked = asked[asked.get("measured", pd.Series(DASH, asked.index)) != DASH]
    if asked.empty:
        return ""
    floor = asked[asked["quantity"] == "ours / products"]
    ratios = ", ".join(f"{row.measured} ({row.work})" for row in floor.itertuples())
    missed = [f"{row.work}, {row.quantity}: {row.measured}, {row.target} asked"
              for row in asked[asked["met"] == "no"].itertuples()]
    besides = f"; not met: {'; '.join(missed)}." if missed else "."
    met = f"{len(asked) - len(missed)} of {len(asked)} targets are met{besides}"
    return f"**Time of a training batch over that of its bare matrix products: {ratios}.** {met}" if ratios else met


def _readable(table: Path) -> None:
    """Rewrite a table of the benchmark for readers: 16,590 for 1.659e+04, data by their titles, targets alone."""
    cells = pd.read_csv(table, dtype=str, keep_default_na=False).replace({"by": PEERS})
    if "commit" in cells and cells["commit"].nunique() == 1:               # stands above the table
        cells = cells.drop(columns="commit")
    for column in cells.columns.drop("commit", errors="ignore"):
        texts = [LONG.sub(lambda one: f"{float(one[0]):,.0f}", text) for text in cells[column]]
        cells[column] = [RACED.sub(lambda one: " on ".join(filter(None, (one[1], TITLES[one[2]]))), text)
                         for text in texts]
    if "target" in cells:
        cells = cells[cells["target"] != DASH]
    cells.to_csv(table, index=False)


def _slopes(caption: str, file: Path) -> str:
    """A caption that says what a slope is, where its table has one."""
    return f"{caption} {SLOPE}" if file.suffix == ".csv" and "slope of" in file.read_text(encoding="utf-8") else caption


def _benched(file: str, caption: str) -> str:
    """A table or a figure of the benchmark."""
    *device, name = file.partition(".")[0].split("/")
    label, place = "-".join([name, *device]), f"generated/bench/{file}"
    if file.endswith(".csv"):
        return (f"```{{csv-table}} {caption}\n:file: {place}\n:header-rows: 1\n:class: ledger\n:name: table-{label}\n"
                "```")
    return f"```{{figure}} {place}\n:alt: {caption}\n:name: figure-{label}\n\n{caption}\n```"


def _benched_by(run: Mapping[str, Any], command: str) -> str:
    return (f"[Made by `{command}` on {escaped(run['device'])}, {_date(run['date'])}, at commit {_commit(run)}; "
            f"{escaped(_versions(run))}.]{{.made-by}}")


def verdicts(saved: Path, whole: bool = False) -> Styler:
    """The verdicts of one notebook for its own page: what was checked, what came out, and what a final verdict needs.

    Args:
        saved: the records file that ``Recorder.save`` returned.
        whole: the other pages' records lie beside it, and readings may look at them. False: they may still be missing.
    """
    found = records.read(saved.parent)
    card = scorecard(judged(found if whole else found[found["notebook"] == saved.stem]))
    card = card[card["notebook"] == saved.stem]
    card = card[(card["verdict"] != "not run") | (card["hangs_on"] != "")]
    card = card.assign(**{column: card[column].str.replace("; ", "<br>") for column in ("ours", "rival")})
    beside = [column for column in ("hangs_on", "rival") if (card[column] != "").any()]
    columns = ["claim", "verdict", *beside, "paper", "ours", "n", "note"]
    shown = card[columns].rename(columns={
        "hangs_on": "under another reading", "rival": BESIDE, "ours": "measured, and the rule", "n": "seeds",
        "note": "what is missing for a final verdict"})
    return plain(shown, f"verdicts-{saved.stem}")


def over_seeds(measured: pd.DataFrame, by: Sequence[str], columns: Mapping[str, str] | Sequence[str],
               words: Mapping[str, str] | None = None) -> Styler:
    """Mean ± standard deviation over the rows of each group, and how many rows (seeds) there are. No ± where all agree,
    and a dash where nothing was measured.

    Args:
        measured: one row a seed: the columns ``by``, and numbers.
        by: the columns that make a group.
        columns: the numbers that are shown -> their titles, where not their own names; ``_`` stands for a space. Shares
            whose title says % are shown in per cent.
        words: what groups are called, where not by their own names.
    """
    titles = dict(columns) if isinstance(columns, Mapping) else dict(zip(columns, columns, strict=True))
    unit = {name: 100 if "%" in title else 1 for name, title in titles.items()}
    scaled = measured.assign(**{name: factor * measured[name] for name, factor in unit.items()})
    groups = _groups(scaled, by, words)[list(titles)]
    mean, sd, count = groups.mean(), groups.std(ddof=1), groups.size()
    text = pd.DataFrame({column: [DASH if m != m else decimals.spread(m, d) for m, d in zip(
        mean[column], sd[column], strict=True)] for column in mean}, index=mean.index)
    text = text.rename(columns=titles).assign(seeds=count).reset_index()
    return plain(text.rename(columns=lambda name: name.replace("_", " ")), f"by-{'-'.join(by)}")


def _groups(frame: pd.DataFrame, by: Sequence[str], words: Mapping[str, str] | None) -> Any:
    """Rows by their words, in the order that they come in, those with the same first word together."""
    frame = frame.sort_values(by[0], kind="stable", key=lambda column: pd.factorize(column)[0])
    return frame.assign(**{column: [(words or {}).get(value, value) for value in frame[column]] for column in by}
                        ).groupby(list(by), sort=False)


def models(trained: Mapping[tuple, Trained | Card], words: Mapping[str, str] | None = None, name: str = "models",
           paper: Mapping[str, object] | None = None, **more: Callable[[Trained | Card], object]) -> Styler:
    """What was trained and how: a row for each data set and model, of its first seed; what all share is said below.

    Args:
        trained: by ``(dataset, model, seed)``.
        words: what models and data sets are called, where not by their own names.
        paper: what the paper says, by column.
        more: further columns, each with what it holds of a trained model; ``_`` stands for a space.
    """
    words, first = TITLES | dict(words or {}), {}
    for key, t in trained.items():
        first.setdefault(key[:2], t)
    frame = pd.DataFrame([
        {"model": words.get(kind, kind), "images of": words.get(data, data)} | _trained_row(t)
        | {"seeds": sum(key[:2] == (data, kind) for key in trained)}
        | {column.replace("_", " "): value(t) for column, value in more.items()}
        for (data, kind), t in first.items()])
    alike = [column for column in frame.columns[1:] if frame[column].map(str).nunique() == 1]
    said = {"Trained alike": frame[alike].iloc[0], "The paper's": paper or {}}
    caption = [f"{title}: " + "; ".join(f"{column} {_four_digits(value)}" for column, value in facts.items()
                                        if value not in ("", "the paper's")) + "."
               for title, facts in said.items() if len(facts)]
    below = [{"selector": "caption", "props": "caption-side: bottom; text-align: left"}]
    return plain(frame.drop(columns=alike).astype(object).fillna(""), name).set_caption(
        " ".join(caption)).set_table_styles(below, overwrite=False)


def _trained_row(t: Trained | Card) -> dict[str, object]:
    train = t.spec.train
    return {"vertices": t.vertices or "", "parameters": f"{t.parameters:,}",
            "training images": t.provenance["n"], "epochs": t.provenance["epochs"],
            "f": named(getattr(t.spec, "activation", "relu" if t.spec.kind == "autoencoder" else "")),
            **_relaxation(t),
            "weight step": weight_step(train), "weight decay": getattr(train, "weight_decay", ""),
            "seconds": round(t.seconds), "device": t.provenance["device"]}


def weight_step(train: "BaseModel") -> float | str:
    """The weight step of settings, in words where it does not stay the same; empty where they have none."""
    step, falls = getattr(train, "weight_lr", ""), getattr(train, "anneal", "none")
    fall = "" if falls == "none" else f", falling as a {falls.replace('linear', 'line')}"
    rise = f", after a warm-up of {train.warm_up:g} epochs" if getattr(train, "warm_up", 0) else ""
    return f"{step:g}{fall}{rise}" if fall or rise else step


def _relaxation(t: Trained | Card) -> dict[str, object]:
    """T, the last epoch's value step, and both together: the relaxed time. Empty where nothing relaxes."""
    if "value_lr" not in t.history:
        return {"T": getattr(t.spec.train, "steps", "")}
    steps, value_lr = t.spec.train.steps, t.history["value_lr"].iloc[-1]
    return {"T": steps, "value step": f"{value_lr:.2g}", "relaxed time": f"{steps * value_lr:.2g}"}


def over_images(each: pd.DataFrame, by: Sequence[str], columns: Mapping[str, str], name: str,
                words: Mapping[str, str] | None = None, same_images: bool = False) -> Styler:
    """Mean and 95 % interval over all images of each group, those of all seeds together.

    Args:
        each: one row an image, as of ``frames.images``.
        by, words: as of ``over_seeds``.
        columns: measures -> their titles, in order.
        same_images: every seed was asked for the same ones in the same order; an image counts once, by its mean.
    """
    def shown(rows: pd.DataFrame, column: str) -> str:
        values = rows[column].dropna().infer_objects()
        share = pd.api.types.is_bool_dtype(values)
        if same_images:
            values = values.astype(float).groupby(rows.groupby("seed").cumcount()).mean()
        return interval(values, share)

    return plain(pd.DataFrame([dict(zip(by, group, strict=True)) | {
        title: shown(rows, column) for column, title in columns.items() if rows[column].notna().any()}
        for group, rows in _groups(each, by, words)]).fillna(""), name)


def interval(values: Sequence[float] | Sequence[bool], share: bool = False) -> str:
    """Mean and its 95 % interval over images, taken as independent, though those of one seed share a graph.

    A share is in per cent, with Wilson's interval. Numbers have Student's t.
    """
    values = np.asarray(values)
    if share:
        low, high = decimals.share_interval(round(values.sum()), len(values))
        return f"{100 * values.mean():.1f} % ({100 * low:.1f} to {100 * high:.1f})"
    mean, low, high = metrics.mean_interval(values.astype(float))
    return decimals.between(mean, low, high)


def plain(frame: pd.DataFrame, name: str) -> Styler:
    """A table for a page: no index, four digits, cells that breathe. ``name`` makes its HTML the same at every run."""
    cells = "text-align: left; vertical-align: top; white-space: normal; padding: 0.35em 0.9em 0.35em 0"
    return (frame.style.hide(axis="index").set_uuid(name).format(_four_digits)
            .set_table_styles([{"selector": "td, th", "props": cells}]))


def in_words(html: str, book: findings.Book) -> str:
    """The HTML of a table whose titles and names, as records have them, are those of ``words.yaml``.

    A claim has its name; in what was measured, models and measures have theirs.
    """
    titles = dict(TITLE.findall(html))
    return CELL.sub(lambda cell: cell[1] + _in_words(cell[4], cell[2] == "h", titles.get(cell[3], ""), book), html)


def _in_words(text: str, heads: bool, title: str, book: findings.Book) -> str:
    """What a cell of a column with this title says; a dash where it says nothing."""
    if not text.strip():
        return text if heads else DASH
    if heads:
        return escape(book.columns[text], quote=False) if text in book.columns else text
    if title == "claim" and (claim := claims.load_claims().get(text)):
        return escape(f"{claim.name} ({claim.remark})" if claim.remark else claim.name, quote=False)
    if title == "paper":                                                   # as it is printed there
        return text
    if title == "verdict" and text.partition(":")[0] in BADGES:
        return f'<span class="verdict {BADGES[text.partition(":")[0]]}">{text}</span>'
    if text in SWITCHES:
        return SWITCHES[text]
    if text.startswith("{&quot;") or text.startswith('{"'):
        return _settings(text)
    if title in TOLD:
        return told(decimals.again(text), book).replace(" < ", " &lt; ")
    named = SETTING.sub(lambda name: book.words.get(name[0], name[0]), decimals.again(text))
    named = WHOLE.sub(lambda one: f"{float(one[0]):.0f}", named)
    return escape(book.words[text], quote=False) if text in book.words else named


def _settings(text: str) -> str:
    """Settings in JSON, as a cell of HTML has them, in words: ``labels to hidden1 1, hidden1 to hidden1 0``."""
    try:
        settings = json.loads(unescape(text))
    except json.JSONDecodeError:
        return text
    words = (f"{name.replace('->', 'to')} {value:g}" if isinstance(value, float) else f"{name} {value}"
             for name, value in settings.items())
    return escape(", ".join(words), quote=False)


def told(text: str, book: findings.Book) -> str:
    """What was measured, with the names of models, data sets, settings and measures in words. The numbers of a rule
    have no zeros that neither the paper nor the rule has: near 88 % and not 88.00 %.
    """
    text = RULED.sub(lambda rule: SHARE.sub(lambda share: f"{float(share[0]):g}", rule[0]), text)
    text = NEAR.sub(_in_points, WITHIN.sub(lambda one: f"within {_points(one[1])} of", text))
    text = CORRUPTED.sub(lambda one: book.words[one[0]], ENDED.sub(r"\1 at the end", text))
    text = FAILING.sub(lambda said: f"{said[1]} of {failed(int(said[2]), int(said[3]))}", text)
    text = HOLDS.sub(lambda one: "the one check holds" if one[1] == "1" else f"{one[0]}s", text)
    text = INSIDE.sub(lambda which: f"[{', '.join(book.words.get(part, part) for part in which[1].split(', '))}]", text)
    return NAME.sub(lambda name: MEASURES.get(name[0]) or book.words.get(name[0], name[0]), text)


def _in_points(rule: re.Match[str]) -> str:
    """A tolerance around a per cent, in points: ``within 2 points of 88 %``, ``at least 88 % less 2 points``."""
    points = _points(rule[2])
    return f"at least {rule[1]} less {points}" if rule[3] else f"within {points} of {rule[1]}"


def _points(number: str) -> str:
    return f"{number} point{'s' * (float(number) != 1)}"


def _four_digits(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.4g}"


def alt_text(cell: "NotebookNode") -> str:
    """What a reader who does not see a cell's picture is told: its ``alt``, else its caption without markup."""
    alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
    return alt or caption(cell) or "A picture without a caption."


def caption(cell: "NotebookNode") -> str:
    """The words below a cell's picture, without markup; a role such as ``{term}`` leaves the words that it shows."""
    words = re.sub(r"\{\w+\}`([^`<]*?)(?: <[^>]*>)?`", r"\1", _caption(cell))
    return re.sub(r"[`*$\\{}]", "", words)


def _caption(cell: "NotebookNode") -> str:
    return " ".join(cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "").split())


def run_of(records: Path, notebook: "NotebookNode") -> dict[str, Any]:
    """What is known of the run behind a page, as Markdown: its records' provenance, else what papermill noted."""
    if records.is_file():
        saved = json.loads(records.read_text(encoding="utf-8"))
        run = saved["provenance"] | {"profile": saved["profile"], "versions": _versions(saved["provenance"]) or None}
        if not isinstance(run.get("seconds"), int | float):
            run["seconds"] = None
        return {key: escaped(value) if isinstance(value, str) else value for key, value in run.items()} | {
            "commit": _commit(run)}
    noted = notebook.metadata.get("papermill", {})
    return {"profile": noted.get("parameters", {}).get("profile"), "seconds": noted.get("duration"),
            "date": noted.get("end_time")}


def made_by(run: Mapping[str, Any]) -> str:
    """The line under a page's title that says what made it; empty where nothing is known."""
    parts = {"profile": "with the profile `{}`", "device": "on {}", "seconds": "in {:.0f} s", "commit": "at commit {}"}
    words = " ".join(text.format(run[key]) for key, text in parts.items() if run.get(key) is not None)
    return f"[Made {words}. All runs: {{doc}}`/book/ledger`.]{{.made-by}}" if words else ""


def escaped(text: object) -> str:
    """Text that Markdown shows as it is, in one line; a dash for nothing."""
    return re.sub(r"([\\`*_\[\]<>${}#])", r"\\\1", " ".join(str(text).split())) or DASH


def _versions(run: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {run[name]}" for name in ("python", *PACKAGES) if name in run)


def _commit(run: Mapping[str, Any]) -> str:
    return f"`{re.sub(r'[^0-9a-z]', '', str(run['commit']))[:9]}`" + " with changes" * bool(run.get("dirty"))


def _date(moment: str) -> str:
    return str(moment)[:16].replace("T", " ")
