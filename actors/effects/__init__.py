"""Effects: the work after a commit that a transaction promises. A file for each noun.

Each file has the payload of an outbox row, the function that makes a promise of it, and the function that executes it.
All files of this folder are registered.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)
