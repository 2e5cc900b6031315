# The workflow: models -> notebooks -> scorecard -> book, for one profile.
#
#   snakemake --cores 2 --config profile=laptop           (make book does this)
#   snakemake --cores 2 --config profile=laptop scorecard
#
# Every job is one plain pcgraph command, so it also runs alone, and on a host without Snakemake. Sources of the library
# are inputs of what depends on them: Snakemake knows only files, and without them an edit would rerun nothing. A changed
# specification reruns just its model, by the trigger on params.

from pathlib import Path

from snakemake.exceptions import WorkflowError

from pcgraph_lite.book import notebooks
from pcgraph_lite import checkout
from pcgraph_lite.evidence import config as settings, sweeps, zoo
from pcgraph_lite.errors import PCGraphError

PROFILE = config.get("profile", "laptop")
ROOT = checkout.ROOT
BUILD = ROOT / "_build" / PROFILE
PACKAGE = ROOT / "pcgraph_lite"
TRAINS = {*zoo.ENGINE, "zoo", "datasets", "sources", "hardware"}                # modules that decide the weights
PRESENTS = {"cli", "__main__", "notebooks", "site"}   # modules that no notebook shows


def sources(wanted):
    """Library files whose module name fits."""
    return sorted(str(path) for path in PACKAGE.rglob("*.py") if wanted(path.stem))


def checked(call, *arguments):
    """Refuse bad settings with their message alone, before any job starts."""
    try:
        return call(*arguments)
    except PCGraphError as error:
        raise WorkflowError(str(error)) from None


profile = checked(settings.load_profile, PROFILE)
NOTEBOOKS = settings.notebook_names()
VALUES = {name: checked(notebooks.resolve, name, profile, {}) for name in NOTEBOOKS}
WEIGHTS = {name: [str(BUILD / "models" / f"{model}-seed{seed}.safetensors")
                  for model, count in checked(notebooks.models, name).items()
                  for seed in notebooks.seeds(name, profile, count)]
           for name in NOTEBOOKS}
RUNS = {name: [run.identity for sweep in f"{values['sweep']} {values.get('crossed', '')}".split()
               for run in checked(sweeps.plan, sweep, PROFILE)]
        for name, values in VALUES.items() if "sweep" in values}                            # of notebooks with sweeps
PAGES = sorted(str(path) for path in (ROOT / "book").rglob("*") if path.is_file() and path.suffix != ".ipynb")
GPU = int(PROFILE == "paper")               # with --resources gpu=1 such jobs take turns
BOOK = BUILD / "book.stamp"                 # a stamp: Snakemake would delete the old site before the new one is whole
if not (BUILD / "site" / "index.html").exists():
    BOOK.unlink(missing_ok=True)


workdir: str(ROOT / "_build" / "snakemake")


wildcard_constraints:
    seed=r"\d+",


localrules: scorecard, book


rule book:
    input:
        [BUILD / "notebooks" / f"{name}.ipynb" for name in NOTEBOOKS],
        BUILD / "scorecard.csv",
        [ROOT / "_config.yml", ROOT / "_toc.yml"],
        PAGES,
        [PACKAGE / "book" / "site.py", PACKAGE / "book" / "tables.py"],
    output:
        touch(BOOK),
    shell:
        f"pcgraph book --profile {PROFILE}"


rule scorecard:
    input:
        [BUILD / "records" / f"{name}.json" for name in NOTEBOOKS],
        [PACKAGE / "evidence" / name for name in ("claims.yaml", "claims.py", "records.py")],
    output:
        BUILD / "scorecard.csv",
    shell:
        f"pcgraph scorecard --profile {PROFILE} --csv {{output:q}} > '{BUILD}/scorecard.txt'"


rule notebook:
    input:
        ROOT / "notebooks" / "{name}.md",
        sources(lambda module: module not in PRESENTS),
        PACKAGE / "evidence" / "claims.yaml",                                                # each page shows its verdicts
        weights=lambda wildcards: WEIGHTS[wildcards.name],
    output:
        BUILD / "notebooks" / "{name}.ipynb",
        BUILD / "records" / "{name}.json",
    params:
        values=lambda wildcards: str(VALUES[wildcards.name]),
        runs=lambda wildcards: " ".join(RUNS.get(wildcards.name, [])),
    threads: profile.threads
    resources:
        gpu=GPU,
    shell:
        f"pcgraph run {{wildcards.name}} --profile {PROFILE}"


rule model:
    input:
        sources(lambda module: module in TRAINS),
    output:
        BUILD / "models" / "{model}-seed{seed}.safetensors",
        BUILD / "models" / "{model}-seed{seed}.csv",
    params:
        identity=lambda wildcards: zoo.identity(wildcards.model, PROFILE, int(wildcards.seed)),
    threads: profile.threads
    resources:
        gpu=GPU,
    shell:
        f"pcgraph train {{wildcards.model}} --profile {PROFILE} --seed {{wildcards.seed}}"
