"""Facts: a class for each kind of committed change, a file for each noun. All files of this folder are registered."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)
