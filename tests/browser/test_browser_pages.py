"""The published pages in a real browser. Oracle: where things stand and end on the screen, as it lays them out.

Skipped where there is no Chromium: install Debian's package ``chromium``, and Playwright from requirements.txt.
"""

import os
from pathlib import Path

import pytest

from pcgraph_lite.book import site
from pcgraph_lite.checkout import ROOT

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.slow
SITE = os.environ.get("PCGRAPH_SITE", "")          # a built site to look at; empty: the published one is built
NOTEBOOKS = site.notebook_names(ROOT / "_toc.yml")
PROSE = [path.relative_to(ROOT / "book").with_suffix("").as_posix() for path in sorted((ROOT / "book").rglob("*.md"))
         if path.parts[-2] in ("book", "how-to")]
PAGES = [*PROSE, *(f"notebooks/{name}" for name in NOTEBOOKS)]
WAIT = 120_000                                     # milliseconds; the machine may be busy
BADGES, FIGURE = 700, 1000                         # above these heights stand the verdicts and findings, and the figure
CUT = """() => [...document.querySelectorAll(".bd-article table, .bd-article pre, .bd-article img")].filter(shown => {
  if (shown.closest("details:not([open])")) return false;
  const right = shown.getBoundingClientRect().right;
  for (let box = shown; box !== document.body; box = box.parentElement) {
    const hides = getComputedStyle(box).overflowX !== "visible";
    if (hides && right > box.getBoundingClientRect().right + 2 || hides && shown === box
        && box.scrollWidth > box.clientWidth + 2) return true;
  }
  return false;
}).map(shown => `${shown.tagName} ${shown.id || shown.closest("[id]").id}`)"""

SQUEEZED = """() => [...document.querySelectorAll(".bd-article img")].filter(shown => shown.naturalWidth
  && shown.clientWidth && Math.abs(
    shown.clientWidth * shown.naturalHeight / (shown.clientHeight * shown.naturalWidth) - 1) > 0.03)
  .map(shown => shown.alt)"""


@pytest.fixture(scope="module")
def built() -> Path:
    """The published site, built from what is committed."""
    return Path(SITE) if SITE else site.make("paper", published=True).parent


@pytest.fixture(scope="module")
def window(chromium: "sync_api.Browser") -> "sync_api.Page":
    """One page for all; ``asked`` are the addresses that it has fetched."""
    page = chromium.new_page()
    page.set_default_timeout(WAIT)
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    return page


def show(window: "sync_api.Page", built: Path, name: str) -> "sync_api.Page":
    window.set_viewport_size({"width": 1280, "height": 900})
    window.goto((built / f"book/{name}.html").as_uri(), wait_until="load", timeout=WAIT)
    return window


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_with_its_result_and_nothing_is_cut_off(window: "sync_api.Page", built: Path, name: str) -> None:
    """At 1280 x 900 nothing is cut or squeezed, and of a notebook every badge, every finding and the figure stand high;
    at 390 the page does not scroll sideways, and wide tables scroll in their own box. Nothing comes from elsewhere."""
    page = show(window, built, name)
    wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(CUT) == page.evaluate(SQUEEZED) == [] and page.evaluate(wide) <= 0
    if name.startswith("notebooks/"):
        ends = page.evaluate("() => [...document.querySelectorAll('.result .verdict, .finding-said')].map(part =>"
                             " part.getBoundingClientRect().bottom)")
        assert max(ends, default=0) < BADGES and page.locator(".result").bounding_box()["y"] < BADGES
        assert page.locator("img.result-figure").first.bounding_box()["y"] < FIGURE
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(wide) <= 0
    assert {address.partition(":")[0] for address in page.asked} <= {"file", "data", "blob"}


def test_the_scorecard_is_filtered_by_keyboard(window: "sync_api.Page", built: Path) -> None:
    page = show(window, built, "scorecard")
    rows, shown = page.locator("table.scorecard tbody tr"), "table.scorecard tbody tr:not([hidden])"
    every = rows.count()
    page.get_by_label("Section").focus()
    page.keyboard.press("ArrowDown")                                       # the first section of the list
    section = page.get_by_label("Section").input_value()
    assert 0 < page.locator(shown).count() < every
    assert {row.get_attribute("data-section") for row in page.locator(shown).all()} == {section}
    assert page.get_by_role("status").inner_text() == f"{page.locator(shown).count()} of {every} claims"
    page.get_by_label("Section").select_option("")
    page.get_by_label("Words").fill("house numbers")
    assert all("house numbers" in row.inner_text().lower() for row in page.locator(shown).all())


def test_without_javascript_every_row_of_the_scorecard_is_shown(chromium: "sync_api.Browser", built: Path) -> None:
    page = show(chromium.new_context(java_script_enabled=False).new_page(), built, "scorecard")
    rows = page.locator("table.scorecard tbody tr")
    assert rows.count() > 40 and all(row.is_visible() for row in rows.all())
    assert page.locator(".filters").count() == 0
    page.context.close()


def test_the_home_page_is_short_and_has_the_score(window: "sync_api.Page", built: Path) -> None:
    page = show(window, built, "index")
    tall = page.evaluate("() => [...document.querySelectorAll('.bd-article table')].map(table => table.offsetHeight)")
    assert max(tall) < 1000 and page.locator(".chips li").count() > 40
