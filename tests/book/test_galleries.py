"""Where pictures stand in a drawing of rows of them. Oracle: the axes that drew them."""

from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
import torch
from PIL import Image

from reproduction import checkout
from reproduction.book import figures, galleries, plots
from reproduction.book.galleries import GAP


@pytest.mark.parametrize("count", [6, 10])
def test_names_of_rows_end_at_the_first_frame_and_the_corner_is_cut_along_frames(tmp_path: Path, count: int) -> None:
    """Dark pictures draw upright lines of their own."""
    plots.use_style()
    rows = {name: torch.rand(count, 784) > 0.5 for name in ("some name", "the name of another", "a third")}
    figure = plots.image_rows(rows, columns=[str(k) for k in range(count)])
    figure.savefig(file := tmp_path / "rows.png", dpi=200, bbox_inches=figure.bbox_inches)      # uncut
    place = figure.axes[0].get_window_extent()
    wide, high = place.width * 200 / figure.dpi / count, place.height * 200 / figure.dpi / len(rows)
    with Image.open(file) as picture:
        left, top = place.x0 * 200 / figure.dpi, picture.height - place.y1 * 200 / figure.dpi
        assert galleries.names_end(picture) * picture.width == pytest.approx(left + GAP / 2 * wide, abs=3)
        box = (left + GAP / 2 * wide, top + GAP / 2 * high, left + (3 - GAP / 2) * wide, top + (2 - GAP / 2) * high)
        assert galleries.corner(picture, columns=3, rows=2) == pytest.approx(box, abs=4)


def test_a_row_of_noise_hides_no_gallery() -> None:
    """Each data set of this published figure begins with one, whose ink hid the frames. Three of ten are cut out."""
    page = nbformat.read(checkout.ROOT / "book/notebooks/l-settings.ipynb", as_version=4)
    drawn = Image.open(BytesIO(figures.of(page)["fig-l-noise"].png))
    left, _, right, _ = galleries.corner(drawn, columns=3, rows=2) or (0, 0, 0, 0)
    assert right - left == pytest.approx(3 / 10 * (drawn.width - left), rel=0.05)


def test_noise_below_hides_no_frames_of_a_judge(tmp_path: Path) -> None:
    noise, marks = torch.rand(10, 784), [True] * 5 + [False] * 5
    figure = plots.image_rows({"digits": torch.zeros(10, 784), "clothing": noise},
                              marks={"digits": marks, "clothing": marks})
    figure.savefig(file := tmp_path / "rows.png", dpi=200, bbox_inches=figure.bbox_inches)
    wide = figure.axes[0].get_window_extent().width * 200 / figure.dpi / 10
    with Image.open(file) as picture:
        left, _, right, _ = galleries.corner(picture, columns=3, rows=2) or (0, 0, 0, 0)
    assert right - left == pytest.approx((3 - GAP) * wide, abs=4)


def test_a_chart_and_a_plain_picture_are_no_gallery(tmp_path: Path) -> None:
    plots.curves({"a": ([1, 2, 3], torch.rand(3))}, "t", "E").savefig(file := tmp_path / "chart.png")
    plt.close("all")
    for other in (Image.open(file), Image.new("L", (30, 20)), Image.new("L", (30, 20), 255)):
        assert galleries.names_end(other) is None and galleries.corner(other, 3, 2) is None
