"""The published pages in a real browser. Oracle: where things stand and end on the screen, as it lays them out.

Skipped where there is no Chromium: install Debian's package ``chromium``, and Playwright from requirements.txt.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcgraph_lite.book import site
from pcgraph_lite.checkout import ROOT

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; Debian: apt-get install chromium")]
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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published site, built beside the checkout from what is committed."""
    if SITE:
        return Path(SITE)
    root = tmp_path_factory.mktemp("published")
    for name in ("book", "results", "notebooks", "_config.yml", "_toc.yml", "CITATION.cff"):
        (root / name).symlink_to(ROOT / name)
    return site.build(site.stage("paper", published=True, root=root), root / "site").parent


@pytest.fixture(scope="module")
def chromium() -> Iterator["sync_api.Browser"]:
    with sync_api.sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox, timeout=WAIT)
        yield browser
        browser.close()


def opened(browser: "sync_api.Browser", built: Path, name: str, **options: object) -> "sync_api.Page":
    page = browser.new_context(viewport={"width": 1280, "height": 900}, **options).new_page()
    page.set_default_timeout(WAIT)
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto((built / f"book/{name}.html").as_uri(), wait_until="load")
    return page


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_page_opens_with_its_result(chromium: "sync_api.Browser", built: Path, name: str) -> None:
    """Every badge and finding, and the figure, at 1280 x 900."""
    page = opened(chromium, built, f"notebooks/{name}")
    ends = page.evaluate("() => [...document.querySelectorAll('.result .verdict, .finding-said')]"
                         ".map(part => part.getBoundingClientRect().bottom + scrollY)")
    assert max(ends, default=0) < BADGES
    assert page.locator(".result").bounding_box()["y"] < BADGES
    assert page.locator("img.result-figure").first.bounding_box()["y"] < FIGURE
    page.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off_and_nothing_comes_from_elsewhere(chromium: "sync_api.Browser", built: Path,
                                                            name: str) -> None:
    """At 1280 nothing is cut; at 390 the page does not scroll sideways, and wide tables scroll in their own box."""
    page = opened(chromium, built, name)
    wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(CUT) == [] and page.evaluate(wide) <= 0
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(wide) <= 0
    assert {address.partition(":")[0] for address in page.asked} <= {"file", "data", "blob"}
    page.context.close()


def test_the_scorecard_is_filtered_by_keyboard(chromium: "sync_api.Browser", built: Path) -> None:
    page = opened(chromium, built, "scorecard")
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
    page.context.close()


def test_without_javascript_every_row_of_the_scorecard_is_shown(chromium: "sync_api.Browser", built: Path) -> None:
    page = opened(chromium, built, "scorecard", java_script_enabled=False)
    rows = page.locator("table.scorecard tbody tr")
    assert rows.count() > 40 and all(row.is_visible() for row in rows.all())
    assert page.locator(".filters").count() == 0
    page.context.close()


def test_the_home_page_is_short_and_has_the_score(chromium: "sync_api.Browser", built: Path) -> None:
    page = opened(chromium, built, "index")
    tall = page.evaluate("() => [...document.querySelectorAll('.bd-article table')].map(table => table.offsetHeight)")
    assert max(tall) < 1000 and page.locator(".chips li").count() > 40
    page.context.close()
