"""Facts: a class for each change that a commit makes, a file a noun. A file is registered by being in this folder."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)
