"""The published pages in a real browser. Oracles: where things stand and end on screen and paper, as it lays them out;
axe-core, which knows what keeps readers out; the sizes of files. Skipped where there is no Chromium: install Debian's
package ``chromium``, and Playwright from requirements.txt."""

import gzip
import os
import re
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from PIL import Image
from sphinx_external_toc.parsing import parse_toc_data

from reproduction.book import site
from reproduction.checkout import ROOT
from reproduction.evidence.strict import read_yaml

textstat = pytest.importorskip("textstat", reason="textstat is not installed")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
pytestmark = pytest.mark.slow
SITE = os.environ.get("PCGRAPH_SITE", "")          # a built site to look at; empty: the published one is built
NOTEBOOKS = site.notebook_names(ROOT / "_toc.yml")
PROSE = [path.relative_to(ROOT / "book").with_suffix("").as_posix() for path in sorted((ROOT / "book").rglob("*.md"))
         if path.parts[-2] in ("book", "how-to")]
PAGES = [*PROSE, *(f"notebooks/{name}" for name in NOTEBOOKS)]
WAIT = 120_000                                     # milliseconds; the machine may be busy
HEAVIEST = 1_800_000                               # bytes of a page with all it loads, as a server sends them
PACKED = {".html", ".css", ".js", ".svg"}          # by gzip
COLOURS = {"color-contrast": "[data-new-kind]", "link-in-text-block": "a[href][data-new-kind]"}        # slow rules
AXE = """how => axe.run({ ...how, resultTypes: ["violations"], preload: false }).then(found => found.violations)"""
LESS = ["region"]                                  # a slow rule whose findings are never serious
FADE = 48                                          # pixels at the right edge of what scrolls, where it fades
PAPER = 680                                        # pixels between the margins of A4
LETTER = 0.7                                       # of its size, below which a figure's letters have less than 9 pixels
FITS, PHONE = 568, 0.62                            # pixels of a figure that fits a phone, with letters of 8 pixels
STARTED = """() => [...document.querySelectorAll(".pc-live")].every(part => part.dataset.ready === "yes"
  || part.getBoundingClientRect().top > innerHeight + 600)"""
FINDING, BADGES, FIGURE = 600, 700, 1000           # above these heights: the first finding, all of them, the figure
WORDS_AT_MOST = {"notebooks": 2200, "book": 2500}  # in sight, without code: what folds away does not count
EASY = 60                                          # Flesch's reading ease of every finding, and of these pages:
READ_FIRST = ("index", "notebooks/01-introduction")
NUMBER = re.compile(r"[-−]?\d[\d.,]*(e-?\d+)?( ?±)?( ?%)?")               # read aloud as a word
ENDS = 900                                         # of a screen: the conclusion of the home page stands above it
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

NEW_KINDS = """known => {
  const seen = new Set(known);
  for (const text of document.querySelectorAll("body *")) {
    const said = [...text.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!said || !text.checkVisibility()) continue;
    const { color, fontSize, fontWeight, textShadow, textDecorationLine } = getComputedStyle(text);
    const kind = [color, fontSize, fontWeight, textShadow, textDecorationLine, text.tagName === "A",
                  getComputedStyle(text.parentElement).color];
    for (let box = text; box; box = box.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(box);
      if (backgroundColor !== "rgba(0, 0, 0, 0)" || backgroundImage !== "none" || opacity !== "1")
        kind.push(backgroundColor, backgroundImage, opacity);
    }
    text.toggleAttribute("data-new-kind", !seen.has(kind.join()));
    seen.add(kind.join());
  }
  return [...seen];
}"""

SQUEEZED = """() => [...document.querySelectorAll(".bd-article img")].filter(shown => shown.naturalWidth
  && shown.clientWidth && Math.abs(
    shown.clientWidth * shown.naturalHeight / (shown.clientHeight * shown.naturalWidth) - 1) > 0.03)
  .map(shown => shown.alt)"""

FADED = """fade => [...document.querySelectorAll(".caption-text, .cell_output caption, .table-says")].filter(said => {
  const box = said.closest(".text_html, .pst-scrollable-table-container"), words = document.createRange();
  words.selectNodeContents(said);
  return said.checkVisibility() && box && box.scrollWidth > box.clientWidth + 1
    && words.getBoundingClientRect().right > box.getBoundingClientRect().right - fade + 1;
}).map(said => said.textContent)"""

WORDS = """() => {
  const texts = document.createTreeWalker(document.querySelector(".bd-article"), NodeFilter.SHOW_TEXT);
  let words = 0;
  while (texts.nextNode()) {
    const within = texts.currentNode.parentElement;
    if (within.checkVisibility() && !within.closest("script, style, pre, mjx-container, .pc-live")
        && (within.closest("summary") || !within.closest("details:not([open])")))
      words += texts.currentNode.data.split(/\\s+/).filter(word => /[a-z0-9]/i.test(word)).length;
  }
  return words;
}"""

PARAGRAPHS = """() => [...document.querySelectorAll(".bd-article :is(p, li, .finding-said)")].filter(said =>
  said.checkVisibility() && !said.querySelector("p, li")
  && !said.closest("details:not([open]), .pc-live, .score, .on-this-page")).map(said => {
  const words = said.cloneNode(true);
  words.querySelectorAll(".math, .made-by, code, .headerlink").forEach(part => part.replaceWith("x"));
  return [said.matches(".finding-said"), words.textContent.replace(/\\s+/g, " ").trim()];
}).filter(([finding, words]) => words)"""

TWICE = """() => [...document.querySelectorAll(".bd-article figure img")].filter(one => one.checkVisibility()).map(
  one => one.src).filter((file, at, all) => all.indexOf(file) !== at)"""

TINY = """least => [...document.querySelectorAll(".pc-live svg text")].filter(text => {
  const { a, b } = text.getScreenCTM();
  return text.checkVisibility() && parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b) < least;
}).map(text => text.textContent)"""

SMALL = """([least, fits, phone]) => [
  ...document.querySelectorAll(`.bd-article figure img:not(.thumbnail, [alt=""]), .result-figure`)]
  .filter(shown => {
    const natural = shown.style.getPropertyValue("--natural") || shown.naturalWidth;
    return shown.src.endsWith(".png") && shown.clientWidth
      && shown.clientWidth < (innerWidth <= 640 && natural <= fits ? phone : least) * natural;
  })
  .map(shown => shown.alt)"""


@pytest.fixture(scope="module")
def built() -> Path:
    """The published site, built from what is committed."""
    return Path(SITE).absolute() if SITE else site.make("paper", published=True).parent


@pytest.fixture(scope="module")
def window(chromium: "sync_api.Browser") -> "sync_api.Page":
    """One page for all; ``asked`` are the addresses that it has fetched, ``said`` what went wrong by its console."""
    page = chromium.new_page(reduced_motion="reduce")
    page.set_default_timeout(WAIT)
    page.asked, page.said = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("console", lambda said: page.said.append(said.text) if said.type in ("error", "warning") else None)
    return page


def show(window: "sync_api.Page", built: Path, name: str, theme: str = "light", width: int = 1280) -> "sync_api.Page":
    window.goto("about:blank")                                             # the last page is not laid out once more
    window.set_viewport_size({"width": width, "height": 900})
    window.emulate_media(media="screen", color_scheme=theme)
    window.goto((built / f"book/{name}.html").as_uri(), wait_until="load", timeout=WAIT)
    return window


@pytest.fixture(scope="module")
def kinds() -> dict[str, set[str]]:
    """By theme: the kinds of texts whose contrast was measured."""
    return {"light": set(), "dark": set()}


@pytest.fixture(scope="module", params=PAGES)
def seen(request: pytest.FixtureRequest, window: "sync_api.Page", built: Path,
         kinds: dict[str, set[str]]) -> SimpleNamespace:
    """What one visit of a page finds, at which the tests of all pages look."""
    window.asked.clear()
    window.said.clear()
    page, found = show(window, built, request.param), SimpleNamespace(name=request.param)
    page.wait_for_function(STARTED, polling=50)
    found.desk = layout(page)
    found.ends = page.evaluate("() => [...document.querySelectorAll('.result .verdict, .finding-said')].map(part =>"
                               " part.getBoundingClientRect().bottom)")
    found.finding, found.figure = (one.first.bounding_box() if one.count() else None for one in (
        page.locator(".finding-said"), page.locator("figure:has(figcaption) img.result-figure")))
    found.prose = page.evaluate(PARAGRAPHS)
    found.twice, found.words = page.evaluate(TWICE), page.evaluate(WORDS)
    images = page.evaluate("() => [...document.images].filter(one => one.checkVisibility()).map(one => one.src)")
    found.files = {Path(unquote(urlsplit(address).path)) for address in [*page.asked, *images]
                   if address.startswith("file:")}
    found.serious = {theme: serious(page, theme, known) for theme, known in kinds.items()}
    found.paper = on_paper(page)
    page.set_viewport_size({"width": 390, "height": 844})
    found.phone = layout(page)
    found.asked, found.said = [*page.asked, *images], [*page.said]          # lazy images are asked for later
    return found


def greys(shown: "sync_api.Page | sync_api.Locator") -> np.ndarray:
    """A screenshot, ``(height, width)`` from 0 to 255."""
    return np.asarray(Image.open(BytesIO(shown.screenshot())).convert("L"))


def layout(page: "sync_api.Page") -> dict[str, object]:
    """What does not fit, at the present width, which should be nothing."""
    return {"cut": page.evaluate(CUT), "squeezed": page.evaluate(SQUEEZED), "faded": page.evaluate(FADED, FADE),
            "small": page.evaluate(SMALL, [LETTER, FITS, PHONE]), "sideways": max(0, page.evaluate(
                "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"))}


def serious(page: "sync_api.Page", theme: str, known: set[str]) -> list[tuple[str, str]]:
    """What axe-core finds that keeps readers out. All texts of one kind have the same contrast: one is measured, on the
    first page that has it; ``known`` grows. What is no matter of colours is the same in the dark theme, but for the
    pictures that the light one hides: all have a text."""
    page.emulate_media(color_scheme=theme)
    page.wait_for_function(f"() => document.documentElement.dataset.theme === '{theme}'", polling=50)
    kinds, found = {*page.evaluate(NEW_KINDS, [*known])}, []
    if theme == "light":
        page.evaluate(axe.Axe().axe_script)
        page.evaluate("rules => axe.configure({ rules })", [{"id": id, "selector": of} for id, of in COLOURS.items()])
        found = page.evaluate(AXE, {"rules": {rule: {"enabled": False} for rule in LESS}})
    elif kinds - known:
        found = page.evaluate(AXE, {"runOnly": [*COLOURS]})
    known |= kinds
    nameless = page.evaluate("() => [...document.querySelectorAll('img:not([alt])')].map(one => one.outerHTML)")
    return [("image-alt", html) for html in nameless] + [
        (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


def on_paper(page: "sync_api.Page") -> tuple[float, bool, float]:
    """As wide as A4 without its margins, from the dark theme: how far the page goes, whether what is of no use there is
    hidden, and how light most of it is."""
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": PAPER, "height": 900})
    right = page.evaluate("""() => Math.max(...[...document.querySelectorAll(".bd-article *")].filter(
      part => part.checkVisibility() && !part.closest("mjx-container, .pc-live")).map(
      part => part.getBoundingClientRect().right))""")
    hidden = page.locator(".bd-sidebar-primary, .copybtn, details.hide.above-input").evaluate_all(
        "parts => parts.every(part => !part.checkVisibility())")
    light = float(np.median(greys(page)))
    page.emulate_media(media="screen", color_scheme="light")
    return right, hidden, light


def test_a_page_opens_with_its_result_and_nothing_is_cut_off(seen: SimpleNamespace) -> None:
    """At 1280 x 900 nothing is cut or squeezed, and of a notebook every badge, every finding and the captioned figure
    stand high, and no picture stands there twice; at 390 the page does not scroll sideways, and wide tables scroll in
    their own box. Nothing comes from elsewhere."""
    assert not any(seen.desk[what] for what in ("cut", "squeezed", "small", "sideways")), seen.desk
    if seen.name.startswith("notebooks/"):
        assert max(seen.ends) < BADGES and seen.finding["y"] < FINDING
        published = (ROOT / "book" / f"{seen.name}.ipynb").is_file()       # a new page has no figure before
        assert not published or seen.figure["y"] < FIGURE
        assert seen.twice == []
    assert not any(seen.phone[what] for what in ("small", "faded", "sideways")), seen.phone
    assert {address.partition(":")[0] for address in seen.asked} <= {"file", "data", "blob"}


def test_a_page_is_short(seen: SimpleNamespace) -> None:
    """The API reference apart, which nobody reads from its beginning to its end."""
    most = WORDS_AT_MOST["notebooks" if seen.name.startswith("notebooks/") else "book"]
    assert seen.words <= most or seen.name == "api", seen.words


def test_what_is_read_first_reads_easily(seen: SimpleNamespace) -> None:
    """By Flesch, whose measure of plain English is 60: each finding, and all words of the pages that come first."""
    hard = {words: ease for finding, words in seen.prose if finding and (ease := reading_ease(words)) < EASY}
    assert not hard, hard
    if seen.name in READ_FIRST:
        assert reading_ease(" ".join(f"{words.rstrip('.:')}." for _, words in seen.prose)) >= EASY


def reading_ease(words: str) -> float:
    return textstat.flesch_reading_ease(NUMBER.sub("ten", words.rstrip(".")) + ".")


def test_a_page_writes_no_error_and_no_warning_to_the_console(seen: SimpleNamespace) -> None:
    assert seen.said == []


def test_nothing_serious_keeps_readers_out(seen: SimpleNamespace) -> None:
    assert seen.serious == {"light": [], "dark": []}


def test_a_page_is_light(seen: SimpleNamespace) -> None:
    """With images far down, which are loaded only when they come near, and with the live parts that are near."""
    sizes = {file.name: len(gzip.compress(file.read_bytes())) if file.suffix in PACKED else file.stat().st_size
             for file in seen.files}
    assert not [file for file in sizes if file.startswith(("fa-", "fontawesome"))]     # icons are drawn by the style
    assert sum(sizes.values()) < HEAVIEST, sorted(sizes.items(), key=lambda one: -one[1])[:5]


def test_a_page_is_whole_on_paper(seen: SimpleNamespace) -> None:
    """Nothing is cut off, and the paper stays white; tables and code have a light grey."""
    right, hidden, light = seen.paper
    assert right <= PAPER + 1 and hidden and light > 240


def test_the_names_of_rows_stand_beside_their_rows_on_a_phone(window: "sync_api.Page", built: Path) -> None:
    for name, width in (("01-introduction", 390), ("06-assemblies", 390), ("06-assemblies", 320)):
        page = show(window, built, f"notebooks/{name}", width=width)
        heights = page.locator(".wide-picture:has(.row-names)").evaluate_all(
            "boxes => boxes.map(box => [...box.querySelectorAll('img')].map(image => image.offsetHeight))")
        assert heights and all(abs(names - picture) <= 1 for names, picture in heights if picture), (name, heights)


def test_the_names_of_rows_stay_in_sight_while_a_phone_scrolls_their_pictures(window: "sync_api.Page",
                                                                              built: Path) -> None:
    page = show(window, built, "notebooks/01-introduction", width=390)
    box = page.locator(".wide-picture:has(.row-names)").first
    names, whole = box.locator(".row-names img"), box.evaluate("box => box.scrollWidth")
    before = names.bounding_box()
    box.evaluate("box => box.scrollLeft = 100")
    assert names.bounding_box() == before and box.evaluate("box => box.scrollWidth") == whole > 390
    assert abs(before["height"] - box.locator("img").last.bounding_box()["height"]) < 1


@pytest.mark.parametrize("width", [1280, 390])
def test_no_letter_of_a_live_part_is_tiny(window: "sync_api.Page", built: Path, width: int) -> None:
    page = show(window, built, "play", width=width)
    for part in page.locator(".pc-live").all():
        part.scroll_into_view_if_needed()
        page.wait_for_function(STARTED, polling=50)
    assert page.locator(".pc-live svg text").count() > 50 and page.evaluate(TINY, 9) == []


def test_the_indexes_fit_a_phone_and_are_dark_in_the_dark_theme(window: "sync_api.Page", built: Path) -> None:
    for name in ("genindex", "py-modindex"):
        page = show(window, built, f"../{name}", theme="dark", width=390)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert np.median(greys(page.locator("tr.cap").first)) < 80


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


def test_the_home_page_opens_with_a_memory_that_has_come_back_and_the_conclusion(window: "sync_api.Page",
                                                                                 built: Path) -> None:
    """From its upper third and with no click; then what works, what does not and what simple methods do, on one screen;
    then a row for each claim."""
    page = show(window, built, "index")
    page.wait_for_function("() => /returns the stored/.test(document.querySelector('.pc-say')?.textContent)")
    said = page.locator("section > ul.simple").first
    assert page.locator(".pc-live").bounding_box()["y"] < said.bounding_box()["y"]
    assert said.bounding_box()["y"] + said.bounding_box()["height"] < ENDS and said.locator("li").count() == 3
    assert page.locator("ul.score li").count() > 35


def test_in_the_dark_theme_no_figure_is_a_pale_slab(window: "sync_api.Page", built: Path) -> None:
    """Of drawings and pictures in grey: as dark as the page at their edge and mostly dark inside. Small pictures are
    cut along frames, which may be coloured."""
    for name in ("notebooks/03b-classification", "notebooks/c-memory-capacity", "notebooks/a-drawings", "why"):
        page = show(window, built, name, theme="dark")
        figures = page.locator(".bd-article :is(figure, .causes) img:not(.photograph)").all()
        assert figures
        for figure in figures:
            figure.scroll_into_view_if_needed()
            figure.evaluate("image => image.decode()")
            seen = greys(figure)
            edge = "thumbnail" not in (figure.get_attribute("class") or "")
            assert np.median(seen) < 100 and (np.median(seen[:3]) < 64 or not edge), figure.get_attribute("alt")


def test_the_whole_book_is_printed_in_the_order_of_its_contents(built: Path) -> None:
    listed = list(parse_toc_data(read_yaml(ROOT / "_toc.yml")))
    assert sorted(listed) == sorted(f"book/{name}" for name in PAGES)
    assert listed[0] == "book/index" and all((built / f"{name}.html").is_file() for name in listed)
