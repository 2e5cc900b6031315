"""Models with which the paper compares its graphs, one file each. Importing the folder registers them (see kinds)."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
