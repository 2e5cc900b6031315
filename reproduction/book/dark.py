"""Draw figures with coloured photographs for dark pages: the paper and its words turn dark, the photographs stay."""

import numpy as np
from PIL import Image

COLOURED = 25                              # of 255 levels between the channels of a pixel that is not grey
WHITE = 0.93                               # of the style sheet's invert(): how far white goes towards black
HUE = np.array([[-0.574, 1.430, 0.144],    # of hue-rotate(180deg), as browsers compute it
                [0.426, 0.430, 0.144],
                [0.426, 1.430, -0.856]])
SHADES = 40                                # more coloured ones, of 16 levels a channel, than words and lines have
PAPER = 230                                # of 255 levels, the darkest channel of what counts as paper
MOST = 0.5                                 # of a row or column that lies in the photographs is no paper


def for_dark_pages(picture: Image.Image) -> Image.Image | None:
    """The RGB picture as the dark theme turns every drawing, but for the photographs; None where it finds none."""
    levels = np.asarray(picture)
    kept = photographs(levels)
    if not kept.any():
        return None
    light = levels / 255
    turned = np.where(kept[..., None], light, (light * (1 - 2 * WHITE) + WHITE) @ HUE.T)
    return Image.fromarray((turned.clip(0, 1) * 255).round().astype(np.uint8))


def photographs(levels: np.ndarray) -> np.ndarray:
    """Which pixels of a (height, width, 3) picture lie in a block of photographs, not on its words or the white gaps
    between its rows and columns. Only photographs have many coloured shades in one row of pixels.
    """
    coloured = np.ptp(levels, axis=2) > COLOURED
    shades = (levels >> 4).astype(int) @ np.array([256, 16, 1])
    rich = np.array([len(np.unique(row[mask])) > SHADES for row, mask in zip(shades, coloured, strict=True)])
    kept = np.zeros(levels.shape[:2], bool)
    if not rich.any():
        return kept
    drawn = levels.min(axis=2) < PAPER
    first, last = np.flatnonzero(rich)[[0, -1]]
    columns = drawn[first:last + 1].mean(axis=0) > MOST
    if columns.any():
        rows = drawn[:, columns].mean(axis=1) > MOST
        kept[np.ix_(_run(rows, first, last), columns)] = True
    return kept


def _run(rows: np.ndarray, first: int, last: int) -> np.ndarray:
    """Those of the rows between the first and the last, and of the neighbours that follow them without a gap."""
    before, after = np.flatnonzero(~rows[:first]), np.flatnonzero(~rows[last + 1:])
    start = before[-1] + 1 if len(before) else 0
    end = last + 1 + after[0] if len(after) else len(rows)
    return np.flatnonzero(rows[start:end]) + start
