"""Every public name with every class of bad value: our own error, or an answer without NaN; nothing else. Oracle: the
types of the errors. Of the calls of doors.py, all topologies of CONSTRUCTORS among them, one argument after the other
is replaced by each of ``BAD``."""

import contextlib
import io
import math
import re
import traceback
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from doors import CALLS, GENERATOR, NETWORK, OTHER, PICTURES, SAVED, X, Y

import pcgraph_lite as pcg
from pcgraph_lite import topology
from pcgraph_lite.errors import PCGraphError

LONG = 10**7                                                               # a number that is fine, if slow
OWN = ("score", "f", "slope")                                              # functions of the caller's, with his errors
LASTING = ("steps", "burn_in", "every", "chains", "epochs", "hidden", "memories", "settings")
BAD: list[Callable[[], object]] = [lambda value=value: value for value in (
    None, True, -1, 0, 1, 1.5, -0.5, math.nan, math.inf, 10**30, LONG, 1e-300, 1e300, 3 + 4j, "text", "", "cuda",
    "a" * 300, "[bold]", "../x", "\0", b"x", [], [0], [-1, 2], ["a"], [[]], [None], (), (1, 2), {}, {"pixels": 1},
    {"x": X}, {"pixels": X * math.nan}, {1: 2}, object(), len, int, np.int64(3), np.float32(0.5), np.zeros(3),
    np.array(["a"]), range(2), Path("/"), Path("/proc/nowhere/at/all"), torch.float16, torch.int64,
    torch.device("cpu"), GENERATOR,
    torch.tensor(1.0), torch.empty(0), torch.empty(0, 16), torch.empty(16, 0), torch.zeros(4), X, X[:1], X[:, :3], X.T,
    X.double(), X.half(), X.bool(), X.to(torch.complex64), X * math.nan, X * math.inf, X.double() * 1e300, X * 255,
    (X * 255).byte(), (X * 255).long(), -X, Y, Y.float(), Y + 10, Y - 5, Y[:1],
    torch.zeros(2, 3, 4, 5), 10**400, np.float32, torch.Tensor, "meta", "hpu", X.numpy(), X.tolist(), Y.numpy(),
    Y.tolist(), [X, Y], (X.tolist(), Y.tolist()), PICTURES.numpy(),
    X.to_sparse(), PICTURES * 255, PICTURES.double(), torch.zeros(21, 21), torch.ones(21, 21, dtype=torch.bool),
    NETWORK, topology.generative(1, [1], 1), nx.path_graph(3), slice(2), ...,
    # as people have met them: other ranges, channels last, labels as bytes, frames, paths as a shell reads them
    X * 16, 2 * X - 1, torch.zeros(8, 4, 4, 1), torch.zeros(8, 4, 4, 3), torch.eye(2)[Y].byte(),
    pd.Series(Y.numpy(), index=range(5, 13)), pd.DataFrame(X.numpy(), index=range(5, 13)), pd.Series(["a", "b"]),
    "~", "~/nowhere/graph", "{seed}", "./{profile}/x", Path("~nobody/x"), f"{SAVED}/below", OTHER)]
BAD += [lambda: iter([1, 2]), lambda: iter(()), lambda: (x for x in (X, Y))]

LISTS = {"load full"}                                                      # what was tried, a line each
NOT_A_NUMBER = {"mean_interval"}                                           # which says so: one value has no spread


def test_all_that_the_api_page_shows_is_called():
    """But answers, which are made by calls, and the modules that it shows whole."""
    page = (Path(__file__).parents[1] / "book/api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto(?:function|class):: pcgraph_lite\.(?:\w+\.)*(\w+)", page, re.MULTILINE)
    assert shown and set(shown) - {"Answer", "Samples"} <= CALLS.keys()


def has_nan(answer: object) -> bool:
    if isinstance(answer, torch.Tensor):
        return answer.is_floating_point() and bool(answer.isnan().any())
    if isinstance(answer, float):
        return math.isnan(answer)
    if isinstance(answer, pd.DataFrame):
        return bool(answer.drop(columns="validation", errors="ignore").isna().any(axis=None))
    if isinstance(answer, dict | tuple | list):
        return any(map(has_nan, answer.values() if isinstance(answer, dict) else answer))
    return any(map(has_nan, vars(answer).values())) if isinstance(answer, pcg.Answer) else False


@pytest.mark.parametrize("name", CALLS)
def test_no_bad_value_is_answered_by_a_foreign_error_or_nan(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The call itself works; then each argument is replaced by each bad value."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))                              # for paths that begin with ~
    (call, given), wrong = CALLS[name], []
    if name != "load full":
        call(**given)
    for argument, (number, make) in product(given, enumerate(BAD)):
        bad = make()
        if (argument in LASTING and bad is LONG) or (argument in OWN and callable(bad)):
            continue
        try:
            with warnings.catch_warnings(action="ignore"), contextlib.redirect_stderr(io.StringIO()):
                answer = call(**given | {argument: bad})
        except PCGraphError as error:
            if name not in LISTS and (len(str(error)) > 1000 or "\n" in str(error)):
                wrong.append(f"{argument} = bad {number}: a long error: {str(error)[:200]!r}")
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(f"{argument} = bad {number}: {type(error).__name__}: {str(error)[:90]!r} at "
                         f"{Path(where.filename).name}:{where.lineno}")
        else:
            if has_nan(answer) and name not in NOT_A_NUMBER:
                wrong.append(f"{argument} = bad {number}: NaN in the answer")
    assert not wrong, "\n".join(wrong[:40])
