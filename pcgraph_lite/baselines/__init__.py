"""Models that the paper compares its graphs with, one file each."""
