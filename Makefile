# Every target sets up what it needs: .venv from requirements.txt, the package, then the work. `make help` lists them.

SHELL := /bin/bash -o pipefail
PYTHON ?= python3
PROFILE ?= laptop
CORES ?= $(shell getconf _NPROCESSORS_ONLN)
INSTALL := .venv/bin/python -m pip install --disable-pip-version-check --root-user-action ignore --no-compile

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export TQDM_MININTERVAL ?= 2
# full data sets that lie beside the checkout
ifneq ($(wildcard ../shared/data),)
export PCGRAPH_DATA ?= $(abspath ../shared/data)
ifneq ($(PCGRAPH_DATA),)  # a relative one means: from here
ifeq ($(filter /% ~%,$(firstword $(PCGRAPH_DATA))),)
override PCGRAPH_DATA := $(CURDIR)/$(PCGRAPH_DATA)
endif
endif
endif

# Where the workflow's jobs run: on this machine, or as CLUSTER says, a folder of config/cluster.
CLUSTER ?=
CLUSTERS := $(notdir $(patsubst %/,%,$(dir $(wildcard config/cluster/*/config.yaml))))
WHERE = --cores $(CORES) --resources gpu=1
ifneq ($(CLUSTER),)
ifneq ($(filter-out $(CLUSTERS),$(CLUSTER)),)
$(error CLUSTER=$(CLUSTER) is unknown. Known: $(CLUSTERS). For one of your own, copy config/cluster/slurm to config/cluster/$(CLUSTER) and edit it)
endif
ifneq ($(shell grep -l '^executor: slurm' config/cluster/$(CLUSTER)/config.yaml),)
ifeq ($(shell command -v sbatch),)
$(error CLUSTER=$(CLUSTER): there is no sbatch on the PATH. Run make on a host that can submit Slurm jobs, or without CLUSTER to compute here)
endif
endif
WHERE = --profile "$(CURDIR)/config/cluster/$(CLUSTER)"
APART = together=no
endif

# Named by the checksum of what decides the environment, because times differ between checkouts that share a .venv.
READY := .venv/ready-$(firstword $(shell cat requirements.txt pyproject.toml | cksum)).stamp

# One run at a time in a checkout; a second one waits (where the system has flock).
WAITS = { flock -n lock true || echo "another run is working here; waiting for it"; } && flock lock
ALONE = $(if $(shell command -v flock),$(WAITS))
# On Linux its jobs start from one warm Python, which saves seconds for each of fifty processes.
WARM = $(if $(CLUSTER),,$(if $(filter Linux,$(shell uname)),env PYTHONDONTWRITEBYTECODE= python "$(CURDIR)/scripts/warm.py"))
# It starts in _build/snakemake, because that is where Snakemake puts its notes. Weights and pages are written aside and
# renamed, so what a failed job leaves is whole.
WORKFLOW = mkdir -p _build/snakemake && cd _build/snakemake && \
	$(ALONE) $(WARM) snakemake --snakefile "$(CURDIR)/Snakefile" $(WHERE) --keep-going --keep-incomplete --rerun-incomplete \
	--nolock --quiet host reason --show-failed-logs --config profile=$(PROFILE) $(APART)

.PHONY: help book publish site test quick paper bench data smoke-outputs lock coverage clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 16

book: $(READY)  ## train, run the notebooks and build the website (PROFILE=laptop); a killed run goes on
	@$(WORKFLOW)
	@echo "the book is at file://$(CURDIR)/_build/$(PROFILE)/site/index.html"

paper: $(READY)  ## the same at the paper's sizes; wants the full data sets and a GPU, here or CLUSTER=slurm
	@$(MAKE) --no-print-directory book PROFILE=paper

PAGES ?= $(notdir $(basename $(wildcard notebooks/*.md)))
publish: $(READY)  ## run the pages as they are published, over the committed ones; wants the full data sets (PAGES=05-labels: one)
	@for page in $(PAGES); do pcgraph run $$page --published || exit 1; \
		cp _build/publish/$$page.ipynb book/notebooks/ && cp _build/publish/records/$$page.json results/records/ || exit 1; done
	@python scripts/renew_published.py

site: $(READY)  ## build the website of the committed paper results; executes nothing
	@pcgraph book --published

# Tests start hundreds of programs, which would each compile our packages where no bytecode may be written.
TESTING := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

test: $(READY)  ## everything that CI checks
	@ruff check .
	@rm -rf _build/smoke
	@$(TESTING) pytest --nbval-lax -n $(CORES) --dist loadfile --no-loadscope-reorder \
		-m "not arithmetic and not long" tests

quick: $(READY)  ## ruff, and the tests that your changes can break, the nearest first, for about a minute
	@ruff check .
	@$(TESTING) python tests/changed.py

bench: $(READY)  ## measure speed, memory and scaling (minutes; leave the machine alone meanwhile)
	@pcgraph bench

smoke-outputs: $(READY)  ## renew tests/notebooks, what CI compares with; commit it alone and say why
	@OMP_NUM_THREADS=1 python tests/renew.py

data: $(READY)  ## list the data sets that are here
	@pcgraph data

UV := uv==0.13.9
lock:  ## make requirements.txt of requirements.in: all versions and hashes, as they are (UPGRADE=1: newer ones)
	@$(PYTHON) -m venv _build/lock && _build/lock/bin/python -m pip install --quiet --disable-pip-version-check $(UV)
	@_build/lock/bin/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) requirements.in -o requirements.txt

coverage: $(READY)  ## the share of branches of both packages that tests run, processes of their own left out
	@mkdir -p _build && export COVERAGE_FILE="$(CURDIR)/_build/coverage" OMP_NUM_THREADS=1 && \
		coverage run --branch --source=pcgraph_lite,reproduction -m pytest -m "not slow" tests && coverage report --skip-covered --precision=1 --fail-under=90

clean:  ## delete everything that was built, except .venv
	rm -rf _build

$(READY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 5) and f"Python 3.11.5 or newer is needed; {sys.executable} is {sys.version.split()[0]}. Choose one: make PYTHON=python3.12")'
	@$(PYTHON) -m venv .venv
	@echo "installing the pinned environment into .venv (once; a few minutes; what pip says goes to .venv/install.log)"
	@{ $(INSTALL) --require-hashes -r requirements.txt && $(INSTALL) --no-deps --no-build-isolation -e .; } > .venv/install.log 2>&1 \
		|| { tail -n 20 .venv/install.log; echo "the installation failed; all of it: $(CURDIR)/.venv/install.log"; exit 1; }
	@.venv/bin/python -m compileall -qq -j 0 -x '/tests/' .venv/lib || true  # pip would take one core, and a minute more
	@rm -f .venv/ready*.stamp && touch $@
