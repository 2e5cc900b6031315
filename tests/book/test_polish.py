"""What is changed in built pages. Oracles: pages and pictures made here."""

import re
from pathlib import Path

import numpy as np
from PIL import Image

from reproduction.book import polish


def test_a_description_is_the_first_finding_else_the_first_paragraph_and_is_cut_at_a_word() -> None:
    assert polish.description("<h1>T</h1><p>Plain <b>text</b> &amp; more.</p>") == "Plain text & more."
    found = '<h1>T</h1><p>x</p><span class="finding-said"><strong>It holds.</strong> So.</span>'
    assert polish.description(found) == "It holds. So."
    long = polish.description(f"<h1>T</h1><p>{'word ' * 100}</p>")
    assert len(long) <= polish.LONGEST + 2 and long.endswith("word …")


def test_lines_do_not_break_before_a_per_cent_and_code_is_as_it_was() -> None:
    code = "<pre>x = 5 % 3</pre><script>a = 5 % 3</script>"
    assert polish.unbroken(f"<p>5 % of 3 ± 1 %, a % b</p>{code}") == (
        f"<p>5\u00a0% of 3\u00a0±\u00a01\u00a0%, a % b</p>{code}")
    assert polish.unbroken("0.5 (0.4 to 0.6), 2 to 3") == "0.5 (0.4\u00a0to\u00a00.6), 2 to 3"
    for whole in ("T = 5", "T\u03b3 = 5", "x = -1", "on [0, 1]", "on [-1, 1]", "0.3 s", "2 GB"):
        assert len(polish.unbroken(f"a {whole} b").split(" ")) == 3 + whole.startswith("on")
    assert polish.unbroken('<a id="1e-3">4e-16</a>') == '<a id="1e-3"><span class="whole">4e-16</span></a>'
    formula = '<span class="math notranslate">\\(T = 5\\)</span>'
    assert polish.unbroken(f"{formula} of T = 5") == f"{formula} of T\u00a0=\u00a05"


def test_words_have_the_apostrophe_of_print_and_code_a_straight_one() -> None:
    code = """<pre>f'x'</pre><code>d's</code><img alt="a cat's">"""
    assert polish.curled(f"<p>the paper's, M'Charrak and the graphs&#39; 'own'</p>{code}") == (
        f"<p>the paper\u2019s, M\u2019Charrak and the graphs\u2019 'own'</p>{code}")


def test_a_page_that_the_text_names_is_linked_once_and_code_headings_and_links_are_as_they_were() -> None:
    assert [polish.short_name(Path(f"{name}.html")) for name in ("03a-fully", "b1-x", "06-y")] == ["3a", "B1", "6"]
    kept = ('<h2>Page 3a</h2><pre>page 3a</pre><a href="x">see <b>page 3a</b></a><img alt="page 3a">'
            "<summary>page 3a</summary>page 3b, pages 3a, page 3aside")
    page = f'page 3a<article class="bd-article">{kept}</article>page 3a'
    assert polish.linked(page, {"3a": "a.html"}) == page
    said = polish.linked('<article class="bd-article"><p>As on page 3a (page L).</p></article>', {"3a": "a.html"})
    assert said == '<article class="bd-article"><p>As on <a href="a.html">page 3a</a> (page L).</p></article>'
    own = '<article class="bd-article"><p>Page L says what page L is.</p></article>'
    assert polish.linked(own, {}, "L") == own.replace("Page L", "This page").replace("page L", "this page")


def test_images_below_the_first_keep_their_room_and_load_late(tmp_path: Path) -> None:
    Image.new("L", (30, 20)).save(tmp_path / "a.png")
    images = '<img class="result-figure" src="a.png"><img src="a.png"><img src="b.svg">'
    page = f'<head></head><article class="bd-article">{images}'
    first, second, third = re.findall(r"<img[^>]*>", polish.polished(page, tmp_path))
    assert 'loading="lazy"' not in first and 'width="30" height="20"' in first
    assert 'loading="lazy"' in second and 'width="30" height="20"' in second
    assert 'loading="lazy"' in third and "width" not in third


def test_a_picture_of_twice_the_resolution_takes_the_same_room_and_its_box_knows_how_wide_it_is(tmp_path: Path) -> None:
    """From which the style tells whether it scrolls. Of a drawing without a size it does not."""
    for dense in (1, 2):
        Image.new("L", (30 * dense, 20 * dense)).save(tmp_path / "a.png", dpi=(dense * polish.DPI,) * 2)
        page = polish.polished('<head></head><article class="bd-article"><img src="a.png">', tmp_path)
        assert 'width="30" height="20" style="--natural: 30; --high: 20"' in page
    for source, natural in (("a.png", 30), ("b.svg", 0)):
        page = polish.polished(f'<article class="bd-article"><figure><img src="{source}"></figure>', tmp_path)
        assert f'<figure><span class="wide-picture" style="--natural: {natural}"><img ' in page


def test_only_photographs_have_the_class_that_no_theme_turns(tmp_path: Path) -> None:
    """Colours of chance are a photograph; grey and one colour are not."""
    figure = np.full((300, 200, 3), 60, np.uint8)
    figure[200:] = (85, 168, 104)
    for photograph in (False, True):
        if photograph:
            figure[:200] = np.random.default_rng(0).integers(0, 240, (20, 20, 3)).repeat(10, 0).repeat(10, 1)
        Image.fromarray(figure).save(tmp_path / "a.png")
        page = polish.polished('<head></head><article class="bd-article"><img src="a.png">', tmp_path)
        assert ('class="photograph"' in page) == photograph


def test_large_pictures_lose_transparency_that_they_do_not_use(tmp_path: Path) -> None:
    colours = np.random.default_rng(0).integers(0, 256, (18, 14, 4), dtype=np.uint8).repeat(10, 0).repeat(10, 1)
    for name, opaque in (("opaque", True), ("clear", False)):
        colours[..., 3] = 255 if opaque else colours[..., 3] // 2
        Image.fromarray(colours).save(file := tmp_path / f"{name}.png")
        before = file.stat().st_size
        polish.lighten(file)
        with Image.open(file) as after:
            assert after.mode == ("RGB" if opaque else "RGBA")
            assert (np.asarray(after.convert("RGBA")) == colours).all()
        assert file.stat().st_size < before if opaque else file.stat().st_size == before


def test_large_pictures_of_few_shades_are_kept_by_a_palette(tmp_path: Path) -> None:
    """Greys and a frame stay as they are, to the last bit; a second time changes nothing."""
    drawn = np.repeat(np.random.default_rng(0).integers(0, 200, (90, 70, 1), dtype=np.uint8), 3, axis=2)
    drawn[:3] = (0, 158, 115)
    Image.fromarray(drawn).save(file := tmp_path / "digits.png")
    before = file.stat().st_size
    for _ in range(2):
        polish.lighten(file)
        with Image.open(file) as after:
            assert after.mode == "P" and (np.asarray(after.convert("RGB")) == drawn).all()
        assert file.stat().st_size < before
