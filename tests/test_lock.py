"""The environment is locked: every package that is installed has one version, and its files are known by content.
Oracle: what is installed here, by its own metadata; what pip itself says of the file."""

import re
from importlib import metadata

import yaml
from installed import needed
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reproduction.checkout import ROOT

LOCK = (ROOT / "requirements.txt").read_text(encoding="utf-8")
PINS = [Requirement(line) for line in re.findall(r"(?m)^(\w[^\\\n]*) \\$", LOCK)]
HERE = {canonicalize_name(one.name): one for one in PINS if not one.marker or one.marker.evaluate()}


def test_every_package_has_one_version_and_digests_that_are_checked_and_no_place_to_get_it_from_is_named() -> None:
    blocks = re.split(r"(?m)^(?=\w)", LOCK)[1:]
    assert len(blocks) == len(PINS) > 150
    for block, pin in zip(blocks, PINS, strict=True):
        assert re.fullmatch(r"==[\w.+]+", str(pin.specifier)), pin
        assert re.findall(r"--hash=sha256:[0-9a-f]{64}(?= \\\n|\n)", block), pin
    assert not re.search(r"(?m)https?:|file:|^ *(-i|-f|--index|--extra-index|--find-links|--trusted-host)|@ ", LOCK)
    assert re.search(r"\$\(INSTALL\) --require-hashes -r requirements\.txt", (ROOT / "Makefile").read_text())


def test_what_is_asked_for_is_locked_and_what_is_locked_is_all_that_is_needed() -> None:
    """`make lock` was run after requirements.in was changed: each name is there, and so is all that those ask for."""
    wanted = [Requirement(line.partition("#")[0]) for line in (ROOT / "requirements.in").read_text().splitlines()
              if line.partition("#")[0].strip()]
    assert needed(wanted) == HERE.keys(), "run make lock"
    asked = [Requirement(text) for name in HERE for text in metadata.requires(name) or []]
    for requirement in [*wanted, *(one for one in asked if not one.marker or one.marker.evaluate({"extra": ""}))]:
        pin = HERE[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(str(pin.specifier)[2:], prereleases=True), requirement


def test_what_is_installed_is_what_is_locked() -> None:
    """A host that brings its own packages is another matter; the environment of `make` is this one."""
    other = {name: (metadata.version(name), str(pin.specifier)) for name, pin in HERE.items()
             if f"=={metadata.version(name)}" != str(pin.specifier)}
    assert not other


def test_continuous_integration_may_only_read_and_runs_what_it_names() -> None:
    """Actions are named by the commit, which nobody can move."""
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"} and text.count("permissions") == 1
    used = re.findall(r"uses: (\S+)", text)
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one) for one in used)
    assert text.count("persist-credentials: false") == sum("checkout" in one for one in used)
