"""Data sets, noise and occlusion, the judge that reads pictures, and measures of images."""
