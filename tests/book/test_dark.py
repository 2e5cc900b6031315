"""The drawings for dark pages. Oracles: pictures made here, and the arithmetic of the style sheet's filters."""

from pathlib import Path

import numpy as np
from PIL import Image

from reproduction.book import polish
from reproduction.book.dark import for_dark_pages, photographs

HIGH, WIDE, LEFT, GAP, TOP = 80, 90, 60, 6, 20                             # of the photographs, their place and gaps


def _figure() -> tuple[np.ndarray, np.ndarray]:
    """Two photographs of chance in a row, twice, on white paper with a black word beside them; and where they lie."""
    levels = np.full((TOP + 2 * (HIGH + GAP), LEFT + 2 * (WIDE + GAP), 3), 255, np.uint8)
    inside = np.zeros(levels.shape[:2], bool)
    for row in (TOP, TOP + HIGH + GAP):
        levels[row + 30:row + 40, 10:40] = 0
        for column in (LEFT, LEFT + WIDE + GAP):
            inside[row:row + HIGH, column:column + WIDE] = True
    levels[inside] = np.random.default_rng(0).integers(0, 7, (inside.sum(), 3)) * 32
    return levels, inside


def test_photographs_stay_and_all_around_them_turns_dark() -> None:
    """White ends at 0.07, black at 0.93, in the gaps too."""
    levels, inside = _figure()
    assert (photographs(levels) == inside).all()
    dark = np.asarray(for_dark_pages(Image.fromarray(levels)))
    assert (dark[inside] == levels[inside]).all()
    paper = (levels == 255).all(axis=2)
    assert (dark[paper] == round(0.07 * 255)).all() and (dark[~paper & ~inside] == round(0.93 * 255)).all()


def test_a_drawing_without_photographs_has_no_second_drawing() -> None:
    levels = np.full((60, 60, 3), 255, np.uint8)
    levels[10:50, 10:50] = (0, 114, 178)
    assert not photographs(levels).any() and for_dark_pages(Image.fromarray(levels)) is None


def test_a_page_holds_both_drawings_one_after_the_other(tmp_path: Path) -> None:
    Image.fromarray(_figure()[0]).save(tmp_path / "a.png")
    page = polish.polished('<article class="bd-article"><figure><img src="a.png" alt="A"></figure>', tmp_path)
    light, dark = page.split("<img ")[1:]
    assert 'class="photograph"' in light and 'src="a.png"' in light and "</span>" not in light
    assert 'class="turned"' in dark and 'src="a-dark.png"' in dark and 'alt="A"' in dark and "--natural" in dark
    with Image.open(tmp_path / "a-dark.png") as turned, Image.open(tmp_path / "a.png") as first:
        assert turned.size == first.size
