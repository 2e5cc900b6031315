"""Data sets, noise and occlusion, the judge that reads pictures, and measures of images."""

from .. import _by_need

__getattr__, __dir__ = _by_need(__name__, __path__)
