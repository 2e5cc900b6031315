"""Where the pictures of a gallery stand in its drawing: ``plots.image_rows`` frames each, at even distances."""

import numpy as np
from PIL import Image

GAP = 0.08                                 # between the frames of two pictures, as a share of their distance
PAPER = 245                                # grey level of what is no ink
COLOUR = 60                                # the least difference between two channels of a coloured pixel
FRAMED, LEAST = 0.9, 0.5                   # ink of a line of frames, by the most of all lines; the least of that most
HOLLOW = 0.85                              # the most ink between two frames, by that of the frames
NEAR = 2                                   # pixels
COLUMNS = range(15, 5, -1)                 # how many there may be


def names_end(picture: Image.Image) -> float | None:
    """Where the names of the rows end, as a share of the drawing's width. None: it is no gallery."""
    across = _columns(coloured(picture)) or _columns(_ink(picture))
    return None if across is None else across[0] / picture.width


def corner(picture: Image.Image, columns: int, rows: int) -> tuple[int, int, int, int] | None:
    """The box of the first pictures in the first rows: left, top, right, bottom. None: it is no gallery."""
    ink = _ink(picture)
    if (across := _columns(coloured(picture)) or _columns(ink)) is None:
        return None
    left, side = across                                                    # of a picture and the gap after it: a square
    beside = ink[:, round(left):].mean(1)
    top = int(np.argmax(beside >= FRAMED * beside.max()))                  # the first line of frames
    right, bottom = (round(start + (count - GAP) * side) + 1 for start, count in ((left, columns), (top, rows)))
    return round(left), top, right, min(bottom, picture.height)


def coloured(picture: Image.Image, least_difference: int = COLOUR) -> np.ndarray:
    """What is no grey: the frames of a judge, with noisy pictures or without. ``np.ptp`` takes ten times as long."""
    red, green, blue = (np.asarray(band) for band in picture.convert("RGB").split())          # (height, width), each
    most, least = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    return most - least > least_difference                                 # (height, width) bool


def _ink(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture.convert("L")) < PAPER                        # (height, width) bool


def _columns(ink: np.ndarray) -> tuple[float, float] | None:
    """Where the first frame begins, and how far it is from there to the next; None: no frames at even distances."""
    inked = ink[len(ink) // 2:].mean(0)                # titles, and noisy pictures in the first row, add ink above
    most = inked.max()
    lines = np.flatnonzero(inked >= FRAMED * most)
    thick = int(np.argmax(np.diff(lines, append=-1) != 1)) + 1             # pixels of a line
    for count in COLUMNS if most > LEAST else ():
        side = (lines[-1] + 1 - lines[0] - thick) / (count - GAP)          # of a picture and the gap after it
        starts = lines[0] + side * np.arange(count)                        # (count,)
        frames = np.concatenate([starts, starts + (1 - GAP) * side])
        gaps = starts[:-1, None] + (1 - GAP / 2) * side + np.array([0, thick / 2])               # a line may cover half
        if (np.abs(np.subtract.outer(frames, lines)).min(1) <= NEAR).all() and \
                (inked[gaps.round().astype(int)].min(1) <= HOLLOW * most).all():
            return float(lines[0]), float(side)
    return None
