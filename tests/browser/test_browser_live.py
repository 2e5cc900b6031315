"""The live parts, in a real browser. Oracles: the Python engine in float64 on the very weights that the page loads, and
``pcgraph_lite.equations``; what a reader who clicks, taps, types or has no JavaScript must find. Skipped where there is
no Chromium: install Debian's package ``chromium``, and Playwright from requirements.txt."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import export_live
import live_files
import numpy as np
import pandas as pd
import pytest
import torch
from strategies import FUNCTIONS
from torch import Tensor

import pcgraph_lite as pcg
from pcgraph_lite import equations
from pcgraph_lite.images import datasets
from reproduction.book import live
from reproduction.checkout import ROOT

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.slow
DATA, BOOK = ROOT / "book/live/data", (ROOT / "book").as_uri() + "/"
MODELS = sorted(path.stem for path in DATA.glob("model-*.js"))
TOLERANCE = 1e-4
WAIT = 120_000                                     # milliseconds; the machine may be busy
WIDTHS = [1280, 390]
content = cache(live_files.content)
Opened = Callable[..., "sync_api.Page"]
TOP = datasets.top_half((1, 28, 28)).flatten()


def page_of(folder: Path, part: str, facts: dict[str, str] | None = None) -> Path:
    """A page that holds this live part and nothing else; scripts come from the checkout."""
    body = live.markup(ROOT, part, BOOK, facts or {})
    page = folder / "page.html"
    page.write_text('<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title><meta name="viewport" '
                    f'content="width=device-width, initial-scale=1"></head><body>{body}</body></html>')
    return page


@pytest.fixture
def opened(chromium: "sync_api.Browser", tmp_path: Path) -> Iterator[Opened]:
    """Opens a page with one part and lets it start. Every script error fails the test."""
    mistakes, before = [], [*chromium.contexts]

    def opened(part: str, width: int = 1280, facts: dict[str, str] | None = None,
               **options: object) -> "sync_api.Page":
        context = chromium.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce", **options)
        context.set_default_timeout(WAIT)
        page = context.new_page()
        page.asked = []
        page.on("pageerror", lambda error: mistakes.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(page_of(tmp_path, part, facts).as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector('.pc-live[data-ready="yes"]', state="attached")
        return page

    yield opened
    for context in {*chromium.contexts} - {*before}:
        context.close()
    assert mistakes == []


@pytest.fixture(scope="module")
def scripts(chromium: "sync_api.Browser", tmp_path_factory: pytest.TempPathFactory) -> "sync_api.Page":
    """One page for all that ask its scripts for numbers, whatever it shows."""
    page = chromium.new_page()
    page.goto(page_of(tmp_path_factory.mktemp("scripts"), "graph").as_uri())
    page.wait_for_selector('.pc-live[data-ready="yes"]', state="attached", timeout=WAIT)
    return page


def settled(page: "sync_api.Page") -> str:
    """Wait until the main button offers to start again; what the part then says."""
    page.wait_for_function("() => !['Stop'].includes(document.querySelector('.pc-main').textContent)"
                           " && /steps|held/.test(document.querySelector('.pc-say').textContent)")
    return page.inner_text(".pc-say")


# ---- numbers --------------------------------------------------------------------------------------------------------

@cache
def python_graph(file: str) -> pcg.PCGraph:
    """The exported graph in the Python engine, float64, with the weights as the page multiplies with them."""
    about = content(DATA / f"{file}.js")
    weight = torch.zeros(about["n"], about["n"], dtype=torch.float64)
    for block in about["blocks"]:
        a, b = block["from"], block["to"]
        weight[a:a + block["rows"], b:b + block["cols"]] = live_files.restored(block).double()
    groups = {name: stop - start for name, (start, stop) in about["groups"].items()}
    graph = pcg.PCGraph(pcg.topology.from_mask(weight != 0, groups), about["activation"], dtype=torch.float64)
    graph.set_weight(weight)
    return graph


def digit(about: dict) -> Tensor:
    """A digit that the model knows, in the units of [0, 1], ``(1, pixels)``."""
    name = "memories" if "labels" not in about["groups"] else "digits"
    raw = np.frombuffer(export_live.base64.b64decode(live_files.content(DATA / f"{name}.js")["images"]), np.uint8)
    return torch.from_numpy(raw.reshape(-1, 784)[3:4] / 255.0)


RUN = """async ([file, values, known, clamp, label, solver, gamma, steps]) => {
  const graph = new PCLive.Graph(await PCLive.need(file)), given = { pixels: { values, known } };
  if (label !== null) given.labels = { values: Array.from({ length: 10 }, (_, k) => +(k === label)) };
  const { x, held } = PCLive.place(graph, given, { pixels: clamp, labels: label !== null });
  const run = new PCLive.Relaxation(graph, x, held, { solver, gamma });
  while (run.steps < steps) run.step();
  globalThis.problem = run.problem;
  return { pixels: [...PCLive.read(graph, run.x, "pixels")], x: [...run.x], energies: run.energies,
           safe: 1 / run.problem.curvature() };
}"""
CASES = {"half held, accelerated": (True, None, "accelerated"), "half held, plain": (True, None, "guarded"),
         "noisy start, accelerated": (False, None, "accelerated"), "noisy start, plain": (False, None, "guarded"),
         "half and label held": (True, 3, "accelerated")}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("file", MODELS)
def test_a_query_in_the_page_is_the_query_of_the_engine(scripts: "sync_api.Page", file: str, case: str) -> None:
    held, label, solver = CASES[case]
    about = content(DATA / f"{file}.js")
    if label is not None and "labels" not in about["groups"]:
        pytest.skip("a memory has no labels")
    graph, scale, steps = python_graph(file), about["scale"], 60
    shown = digit(about) if held else digit(about) + 0.3 * torch.randn(1, 784, dtype=torch.float64)
    known = TOP if held else torch.ones(784, dtype=torch.bool)
    asked = {"pixels": pcg.observed((shown - scale["offset"]) / scale["unit"], known)}
    labels = {} if label is None else {"labels": torch.eye(10, dtype=torch.float64)[label][None]}
    where = {"clamp": asked | labels} if held else {"clamp": labels, "init": asked}
    momentum = 0.95 if solver == "accelerated" else 0.0
    gamma = float(pcg.query(graph, **where, steps=1, tolerance=None).value_lr)        # by power iteration
    answer = pcg.query(graph, **where, steps=steps, tolerance=None, momentum=momentum,
                       value_lr=gamma if momentum else "safe")
    got = scripts.evaluate(RUN, [file, shown[0].tolist(), known.int().tolist(), held, label, solver, gamma, steps])
    trace = torch.cat([answer.initial_energy[None], answer.energy])[:, 0]
    assert got["safe"] == pytest.approx(gamma, rel=0.1)                    # another start direction, as many products
    energies = np.abs(np.array(got["energies"]) / trace.numpy() - 1).max()
    values = np.abs(np.array(got["x"]) - answer.x[0].numpy()).max()
    assert energies < TOLERANCE and values < TOLERANCE
    pixels = answer.values["pixels"][0] * scale["unit"] + scale["offset"]
    assert np.abs(np.array(got["pixels"]) - pixels.numpy()).max() < TOLERANCE
    assert trace[-1] < 0.8 * trace[0]                                      # and something happened


@pytest.mark.parametrize("label", [None, 3])
def test_the_page_is_as_sure_as_the_engine(scripts: "sync_api.Page", label: int | None) -> None:
    """Oracle: the inverse of the Hessian, which autograd takes of the energy over the hidden vertices, in float64."""
    file = "model-generative-labels-mnist"
    graph, shown = python_graph(file), digit(content(DATA / f"{file}.js"))
    scripts.evaluate(RUN, [file, shown[0].tolist(), TOP.int().tolist(), True, label, "accelerated", None, 400])
    got = torch.tensor(scripts.evaluate("[...PCLive.deviation(problem)]"), dtype=torch.float64)
    labels = {} if label is None else {"labels": torch.eye(10, dtype=torch.float64)[label][None]}
    answer = pcg.query(graph, {"pixels": pcg.observed(shown, TOP)} | labels, steps=400, momentum=0.95, tolerance=None)
    pixels, free = graph.topology.slice("pixels"), torch.ones(graph.topology.n, dtype=torch.bool)
    free[pixels] = False
    free[graph.topology.slice("labels")] = label is None
    slope, weight = graph.slope(answer.x)[0], graph.weight

    def predicted(hidden: Tensor) -> Tensor:
        """Predictions of all vertices, linear about the answer: its second derivatives are those of the energy."""
        return (slope * torch.zeros_like(slope).masked_scatter(free, hidden)) @ weight

    def energy(hidden: Tensor) -> Tensor:
        error = torch.zeros_like(slope).masked_scatter(free, hidden) - predicted(hidden)
        missing = torch.zeros_like(free)
        missing[pixels] = ~TOP
        return 0.5 * error[~missing].square().sum()

    start = torch.zeros(int(free.sum()), dtype=torch.float64)
    covariance = torch.linalg.inv(torch.autograd.functional.hessian(energy, start, vectorize=True))
    reach = (slope[:, None] * weight)[free][:, pixels][:, ~TOP]            # (free, missing)
    want = torch.einsum("fm,fg,gm->m", reach, covariance, reach).sqrt()
    assert (got[~TOP] - want).abs().max() < TOLERANCE and not got[TOP].any()


def test_how_sure_is_asked_of_an_answer_with_hidden_pixels(opened: Opened) -> None:
    page = opened("graph")
    sure = page.get_by_role("button", name="How sure?")
    assert "It reads a 9" in settled(page)                                 # it opens with an answer
    before = page.evaluate("PCLive.shown.graph.answer.canvas.toDataURL()")
    sure.click()
    assert "less sure" in page.inner_text(".pc-say")
    assert page.evaluate("PCLive.shown.graph.answer.canvas.toDataURL()") != before
    page.get_by_text("Read a digit").click()                               # every pixel is held
    page.click(".pc-main")
    settled(page)
    assert sure.is_disabled()


RING = """([x, w, f, set]) => { const ring = PCLive.shown.ring;
  Object.assign(ring.state, { x, w, f, set, held: [0, 1, 0], gamma: 0.1, alpha: 0.1 });
  ring.energies = []; for (let t = 0; t < 20; t++) ring.step();
  const settled = [...ring.state.x], cut = document.querySelectorAll(".pc-cut").length; ring.learn();
  return { settled, cut, energies: ring.energies, weights: ring.state.w }; }"""


@pytest.mark.parametrize(("f", "put"), [("linear", False), ("tanh", False), ("hardtanh", False), ("relu", False),
                                        ("tanh", True)])
def test_the_three_vertices_follow_the_equations(opened: Opened, f: str, put: bool) -> None:
    """One is held, or set (``put``): then all is as in a ring without the edge into it, whose error nobody pays."""
    x, theta = torch.tensor([[1.3, -0.4, 0.7]], dtype=torch.float64), [0.9, -1.2, 0.5]
    held, weight = torch.tensor([False, True, False]), torch.zeros(3, 3, dtype=torch.float64)
    weight[0, 1], weight[1, 2], weight[2, 0] = [0 if put else theta[0], *theta[1:]]
    function, slope = FUNCTIONS[f]
    got = opened("ring").evaluate(RING, [x[0].tolist(), theta, f, put])
    ends = equations.relax(x, held, weight, function, slope, 20, 0.1)
    assert got["settled"] == pytest.approx(ends[0].tolist(), abs=1e-12) and got["cut"] == put
    paid = float(equations.energy(ends, weight, function)) - put * 0.4**2 / 2
    assert got["energies"][20] == pytest.approx(paid, abs=1e-12)
    learned = weight - 0.1 * equations.weight_gradient(ends, weight, function, (weight != 0).double())
    learned[0, 1] = theta[0] if put else learned[0, 1]
    assert got["weights"] == pytest.approx([float(learned[j, i]) for j, i in ((0, 1), (1, 2), (2, 0))], abs=1e-12)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_ring_shows_the_difference_between_observing_and_setting(opened: Opened, width: int) -> None:
    """The cause of a vertex stays where the vertex is set, and moves where it is observed."""
    page = opened("ring", width)
    page.click("text=Set instead of seen")
    assert page.locator(".pc-cut").count() == 1
    page.click(".pc-main")
    assert "Settled" in settled(page) and abs(page.evaluate("PCLive.shown.ring.state.x[0]")) < 1e-6
    page.click("label:text-is('Observed')")
    assert page.locator(".pc-cut").count() == 0
    page.click(".pc-main")
    page.wait_for_function("PCLive.shown.ring.state.x[0] > 0.2")


@pytest.mark.parametrize("file", MODELS)
def test_two_hundred_steps_take_less_than_two_seconds(scripts: "sync_api.Page", file: str) -> None:
    """Of the processor, so that other work on this machine does not decide."""
    metrics = scripts.context.new_cdp_session(scripts)
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
    shown = digit(content(DATA / f"{file}.js"))[0].tolist()

    def spent() -> float:
        return {m["name"]: m["value"] for m in metrics.send("Performance.getMetrics")["metrics"]}["TaskDuration"]

    scripts.evaluate(RUN, [file, shown, TOP.int().tolist(), True, None, "accelerated", None, 1])
    before = spent()
    scripts.evaluate(RUN, [file, shown, TOP.int().tolist(), True, None, "accelerated", None, 200])
    print(f"{file}: {spent() - before:.2f} s for loading and 200 steps")
    assert spent() - before < 2


# ---- readers --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("part", sorted(live.parts(ROOT)))
def test_a_part_fits_its_page_and_every_control_has_a_name(opened: Opened, part: str, width: int) -> None:
    page = opened(part, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.evaluate("""() => [...document.querySelectorAll('.pc-live :is(button, select, .pc-bar label)')].filter(
      (e) => e.checkVisibility() && e.getBoundingClientRect().height < 44).map((e) => e.textContent)""")
    assert width > 640 or small == []                                      # a finger needs 44 pixels
    unnamed = page.evaluate("""() => {
      const said = (e) => e.labels?.[0]?.textContent.trim() || e.getAttribute('aria-label') || e.textContent.trim()
        || e.closest('[aria-hidden=true]');
      const controls = document.querySelectorAll('.pc-live :is(input, select, button, canvas, svg)');
      return [...controls].filter((e) => !said(e)).map((e) => e.outerHTML.slice(0, 120)); }""")
    assert unnamed == []
    assert not page.is_visible(".pc-still")
    assert page.asked and all(url.startswith("file:") for url in page.asked)


def test_a_mouse_draws_from_a_label(opened: Opened) -> None:
    page = opened("graph")
    page.click("text=Draw from a label")
    page.select_option("select >> nth=0", "7")
    page.click(".pc-main")
    assert "held at 7" in settled(page)
    ink = page.evaluate("PCLive.shown.graph.frames.at(-1).pixels.reduce((sum, v) => sum + Math.max(0, v), 0)")
    energies = page.evaluate("PCLive.shown.graph.energies")
    assert ink > 20 and energies[-1] < energies[0]                         # a digit has about a hundred
    page.locator("input[type=range]").first.fill("0")                      # back to the start: an empty sheet
    assert "step 0" in page.get_attribute(".pc-answers canvas", "aria-label")


def test_a_finger_hides_pixels_and_settles(opened: Opened) -> None:
    page = opened("memory", 390, has_touch=True)
    known = "PCLive.shown.memory.editor.known.reduce((a, b) => a + b)"

    def tap() -> int:
        page.locator(".pc-editor").scroll_into_view_if_needed()
        box = page.locator(".pc-editor").bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 4)
        return page.evaluate(known)

    page.tap("label:text-is('From half')")
    before, pans = page.evaluate(known), "getComputedStyle(document.querySelector('.pc-editor')).touchAction"
    assert tap() == before == 392 and page.evaluate(pans) == "auto"        # a finger scrolls ...
    page.tap("label:text-is('Hide')")
    assert tap() < before and page.evaluate(pans) == "none"                # ... until a tool is chosen
    page.tap(".pc-main")
    said = settled(page)
    assert "returns the stored" in said and "below 0.0001" in said


def test_a_memory_comes_back_from_noise_as_the_page_says(opened: Opened) -> None:
    """At the scored setting; of ten stored digits of the records nearly all do. Any change clears what was said."""
    page = opened("memory", facts={"noise": "99.4 %"})
    page.click("text=From noise")
    page.evaluate("PCLive.shown.memory.steps.set(6)")                      # 500 of its 2000 steps are enough here
    page.click(".pc-main")
    said = settled(page)
    assert "returns the stored" in said and "99.4 % of the stored digits come back" in said
    page.click("text=Add noise")
    assert page.inner_text(".pc-say") == "Press Settle."


def test_keys_alone_do_it_all(opened: Opened) -> None:
    page = opened("graph")
    page.focus(".pc-editor")
    for key in ("ArrowUp", "ArrowUp", "ArrowLeft", " "):
        page.keyboard.press(key)
    assert page.evaluate("PCLive.shown.graph.editor.known[12 * 28 + 13]") == 0
    page.focus("input[value=complete]")
    page.keyboard.press("ArrowRight")                                      # the next experiment
    assert page.is_checked("input[value=tell]")
    page.focus(".pc-main")
    page.keyboard.press("Enter")
    assert "held at" in settled(page)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_ring_is_dragged_stepped_and_run(opened: Opened, width: int) -> None:
    page = opened("ring", width)
    box = page.locator(".pc-vertex >> nth=1").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 60)
    page.mouse.up()
    assert page.evaluate("PCLive.shown.ring.state.x[1]") == pytest.approx(0.0, abs=0.05)       # from -1, one up
    page.locator("input[type=range] >> nth=3").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("PCLive.shown.ring.state.w[0]") == pytest.approx(0.91)
    page.check("#pc-hold-2")
    page.get_by_role("button", name="Step", exact=True).click()
    assert page.evaluate("PCLive.shown.ring.state.x[2]") == -1 and "held" in page.inner_text(".pc-equations")
    page.click(".pc-main")
    assert "Settled" in settled(page)


def test_too_large_a_step_is_said(opened: Opened) -> None:
    page = opened("ring")
    page.click("text=Too large a step size")
    page.click(".pc-main")
    page.wait_for_function("/energy rises/.test(document.querySelector('.pc-say').textContent)")


def test_each_task_opens_with_its_best_setting_and_the_slider_says_what_another_costs(opened: Opened) -> None:
    """Oracle: the best mean over runs that differ in nothing but the seed, by pandas."""
    page = opened("relaxed")
    for k, panel in enumerate(live_files.content(DATA / "relaxed-time.js")["panels"]):
        means = pd.DataFrame(panel["points"]).groupby(["T", "gamma", "decay"])["score"].mean()
        top = means.max() if panel["more"] else means.min()
        page.select_option("select", str(k))
        best = page.inner_text(".pc-say")
        assert any(best.startswith(f"Best of those tried: T = {steps}, γ = {gamma} and "
                                   + (f"weight decay {decay:g}; " if decay else "no weight decay; "))
                   for steps, gamma, decay in means.index[np.isclose(means, top)]), panel["task"]
        page.focus("input[type=range]")
        page.keyboard.press("Home")
        page.keyboard.press("End")
        assert page.inner_text(".pc-say").endswith("worse than the best.") or page.inner_text(".pc-say") == best
        assert page.locator(".pc-near").count() >= 1


def test_masks_show_what_the_constructors_make(opened: Opened) -> None:
    page = opened("masks")
    for title, one in export_live.TOPOLOGIES.items():
        page.click(f"label:text-is('{title}')")
        topology = export_live.made(*one["small"])
        dark = page.evaluate("""() => { const c = document.querySelector('.pc-mask');
          const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
          return Array.from({ length: d.length / 4 }, (_, k) => +(d[4 * k] === 31)); }""")
        assert dark == topology.mask().int().flatten().tolist(), title
        assert f"{topology.edge_count():,} edges" in page.inner_text(".pc-two")


@pytest.mark.parametrize("part", sorted(live.parts(ROOT)))
def test_without_javascript_a_picture_stands_there(opened: Opened, part: str) -> None:
    picture = opened(part, 390, java_script_enabled=False).locator(".pc-still")
    picture.scroll_into_view_if_needed()
    assert picture.is_visible() and len(picture.get_attribute("alt")) > 40
    assert (ROOT / f"book/live/stills/{part}.png").stat().st_size < 150_000
