"""Data sets, noise and occlusion, the judge that reads pictures, and measures of images."""

from functools import partial

from .. import _imported

__getattr__ = partial(_imported, package=__name__, rooms=(
    "calibration", "datasets", "judge", "metrics", "scale", "sources"))
