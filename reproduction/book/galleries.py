"""Where the pictures of a gallery stand in its drawing: ``plots.image_rows`` frames each, at even distances."""

import numpy as np
from PIL import Image

GAP = 0.08                                 # between the frames of two pictures, as a share of their distance
PAPER = 245                                # grey level of what is no ink
FRAMED, LEAST = 0.9, 0.5                   # ink of a line of frames, by the most of all lines; the least of that most
NEAR = 2                                   # pixels
COLUMNS = range(15, 5, -1)                 # how many there may be
SHAPES = (0.9, 1.5)                        # heights of a row by its pictures' distance


def names_end(picture: Image.Image) -> float | None:
    """Where the names of the rows end, as a share of the drawing's width. None: it is no gallery."""
    across = _columns(_ink(picture))
    return None if across is None else across[0] / picture.width


def corner(picture: Image.Image, columns: int, rows: int) -> tuple[int, int, int, int] | None:
    """The box of the first pictures in the first rows: left, top, right, bottom. None: it is no gallery."""
    ink = _ink(picture)
    if (across := _columns(ink)) is None:
        return None
    (left, wide), beside = across, ink[:, round(across[0]):].mean(1)
    counts, longest = range(int(picture.height / (SHAPES[0] * wide)), 1, -1), SHAPES[1] * wide
    down = _frames(beside, counts, longest) or _frames(beside, counts, longest, between=1)     # ticks may fill gaps
    if down is None:
        return None
    top, high = down
    return round(left), round(top), round(left + (columns - GAP) * wide) + 1, round(top + (rows - GAP) * high) + 1


def _ink(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture.convert("L")) < PAPER                        # (height, width) bool


def _columns(ink: np.ndarray) -> tuple[float, float] | None:
    """``_frames`` across, in the lower half: titles, and noisy pictures in the first row, add ink to some columns."""
    return _frames(ink[len(ink) // 2:].mean(0), COLUMNS)


def _frames(inked: np.ndarray, counts: range, longest: float = np.inf,
            between: float = 0.85) -> tuple[float, float] | None:
    """Where the first frame begins, and how far it is from there to the next, at most ``longest``, by the share of ink
    in each line of pixels; in a gap it is at most ``between`` times the largest. None: no lines at even distances.
    """
    most = inked.max()
    lines = np.flatnonzero(inked >= FRAMED * most)
    for count in counts if most > LEAST else ():
        side = np.ptp(lines) / (count - GAP)                               # of a picture and the gap after it
        starts = lines[0] + side * np.arange(count)                        # (count,)
        frames, gaps = np.concatenate([starts, starts + (1 - GAP) * side]), starts[:-1] + (1 - GAP / 2) * side
        if side <= longest and (np.abs(np.subtract.outer(frames, lines)).min(1) <= NEAR).all() and \
                (inked[gaps.round().astype(int)] <= between * most).all():
            return float(lines[0]), float(side)
    return None
