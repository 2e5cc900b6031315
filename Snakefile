# The workflow: models -> notebooks -> scorecard -> book, for one profile.
#
#   snakemake --cores 2 --config profile=laptop           (make book does this)
#   snakemake --cores 2 --config profile=laptop scorecard
#
# Every job is one plain pcgraph command, so it also runs alone, and on a host without Snakemake. What decides a result
# decides whether a job runs: of weights, their settings and the numerics of the code; of a page, its text, its models, its
# parameters and a digest of the code and of its rules. A comment in the library runs nothing, and builds the book anew.
#
# Small models train several in one process, those of a few pages together, because starting one takes seconds; where a training
# takes hours, and on a cluster, each is a job of its own. `--config together=no` (or yes) says it by hand.

import re

from snakemake.exceptions import WorkflowError

from reproduction import checkout
from reproduction.book import inputs, notebooks
from pcgraph_lite.errors import PCGraphError
from reproduction.evidence import config as settings, claims, sweeps, words, zoo


def checked(call, *arguments):
    """Refuse bad settings with their message alone, before any job starts."""
    try:
        return call(*arguments)
    except PCGraphError as error:
        raise WorkflowError(str(error)) from None


PROFILE = config.get("profile", "laptop")
profile = checked(settings.load_profile, PROFILE)
TOGETHER = str(config.get("together", PROFILE != "paper")).lower() in ("yes", "true")
ROOT = checkout.ROOT
BUILD = ROOT / "_build" / PROFILE
NOTEBOOKS = settings.notebook_names()
VALUES = {name: checked(notebooks.resolve, name, profile, {}) for name in NOTEBOOKS}
WEIGHTS = {name: checked(notebooks.weights, name, profile) for name in NOTEBOOKS}
RUNS = {name: [run.identity for sweep in " ".join(values.get(key, "") for key in ("sweep", "longer", "scaled")).split()
               for run in checked(sweeps.plan, sweep, PROFILE)]
        for name, values in VALUES.items() if "sweep" in values}                            # of notebooks with sweeps
FIRST = {weights: name for name in reversed(NOTEBOOKS) for weights in WEIGHTS[name]}        # the first page to load them
FINGERPRINT = {one: checked(lambda: zoo.ModelRun(one[0], PROFILE, one[1]).fingerprint) for one in FIRST}
# A job on another machine is asked for one model, and does not look at what is there.
MISSING = [one for one in FIRST if not workflow.is_main_process or not zoo.ModelRun(one[0], PROFILE, one[1]).is_done]
PAGES = sorted(str(path) for path in (ROOT / "book").rglob("*") if path.is_file() and path.suffix != ".ipynb")
PAGES += [str(path) for path in (claims.FILE, words.FILE, ROOT / "CITATION.cff") if path.is_file()]
PAGES += sorted(str(path) for path in (ROOT / "reproduction/book/templates").glob("*"))
PAGES += sorted(str(path) for path in (ROOT / "pcgraph_lite").rglob("*.py"))               # the API reference
PAGES_A_JOB = 5                             # whose models train in one process
GPU = int(PROFILE == "paper")               # with --resources gpu=1 such jobs take turns
BOOK = BUILD / "book.stamp"                 # a stamp: Snakemake would delete the old site before the new one is whole
if not (BUILD / "site" / "index.html").exists():
    BOOK.unlink(missing_ok=True)


def weights(model, seed):
    """The file of a model's weights."""
    return str(BUILD / "models" / f"{model}-seed{seed}.safetensors")


def named(file):
    """The model and the seed that a file of weights is named by."""
    model, _, seed = file.rpartition("-seed")
    return model, int(seed)


def batches():
    """The missing models by the group of pages that loads them first, and by their seeds: (first page, seeds) -> names."""
    seeds = {}
    for model, seed in MISSING:
        seeds.setdefault((FIRST[model, seed], model), []).append(str(seed))
    found = {}
    for (page, model), some in seeds.items():
        group = NOTEBOOKS[NOTEBOOKS.index(page) // PAGES_A_JOB * PAGES_A_JOB]
        found.setdefault((group, tuple(some)), []).append(model)
    return found


workdir: str(ROOT / "_build" / "snakemake")


localrules: scorecard, book


onerror:  # with --keep-incomplete Snakemake takes a failed job for done, and misses its page only where something asks for it
    for last in (BUILD / "scorecard.csv", BOOK):
        last.unlink(missing_ok=True)


rule book:
    input:
        [BUILD / "notebooks" / f"{name}.ipynb" for name in NOTEBOOKS],
        BUILD / "scorecard.csv",
        [ROOT / "_config.yml", ROOT / "_toc.yml"],
        PAGES,
    output:
        touch(BOOK),
    message:
        "building the book"
    params:
        code=inputs.code(site=True),
    log:
        BUILD / "logs" / "book.log",
    shell:
        f"pcgraph book --profile {PROFILE} > {{log:q}} 2>&1"


rule scorecard:
    input:
        [BUILD / "records" / f"{name}.json" for name in NOTEBOOKS],
    output:
        BUILD / "scorecard.csv",
    message:
        "judging the claims"
    params:
        rules=checked(inputs.rules),
        code=inputs.code(),
    log:
        BUILD / "scorecard.txt",
    shell:
        f"pcgraph scorecard --profile {PROFILE} --csv {{output:q}} > {{log:q}} 2>&1"


rule notebook:
    input:
        ROOT / "notebooks" / "{name}.md",
        lambda wildcards: [weights(*one) for one in WEIGHTS[wildcards.name]],
    output:
        BUILD / "notebooks" / "{name}.ipynb",
        BUILD / "records" / "{name}.json",
    message:
        "running {wildcards.name}"
    params:
        values=lambda wildcards: str(VALUES[wildcards.name]),
        runs=lambda wildcards: " ".join(RUNS.get(wildcards.name, [])),
        models=lambda wildcards: [FINGERPRINT[one] for one in WEIGHTS[wildcards.name]],
        code=lambda wildcards: inputs.page(wildcards.name),
    log:
        BUILD / "logs" / "{name}.log",
    threads: profile.threads
    resources:
        gpu=GPU,
    shell:
        f"pcgraph run {{wildcards.name}} --profile {PROFILE} > {{log:q}} 2>&1"


if TOGETHER:
    for (page, seeds), names in batches().items():
        rule:
            name:
                f"models_of_{page}_{'_'.join(seeds)}".replace("-", "_")
            output:
                [weights(name, seed) for name in names for seed in seeds],
            message:
                f"training for {page} and the next pages"
            params:                                    # read now; a shell line is read when the job starts
                words=f"{' '.join(names)} --seed {' --seed '.join(seeds)}",
                models=[FINGERPRINT[name, int(seed)] for name in names for seed in seeds],
            log:
                BUILD / "logs" / f"models-of-{page}-{'-'.join(seeds)}.log",
            priority: 1                                # before pages, which are shorter and fill the gaps at the end
            threads: profile.threads
            shell:
                f"pcgraph train {{params.words}} --profile {PROFILE} > {{log:q}} 2>&1"
else:

    rule model:
        output:
            BUILD / "models" / "{weights}.safetensors",
        message:
            "training {wildcards.weights}"
        params:
            words=lambda wildcards: wildcards.weights.replace("-seed", " --seed "),
            models=lambda wildcards: FINGERPRINT[named(wildcards.weights)],
        log:
            BUILD / "logs" / "{weights}.log",
        wildcard_constraints:
            weights="|".join(re.escape(f"{model}-seed{seed}") for model, seed in MISSING) or "(?!)",
        threads: profile.threads
        resources:
            gpu=GPU,
        shell:
            f"pcgraph train {{params.words}} --profile {PROFILE} > {{log:q}} 2>&1"
