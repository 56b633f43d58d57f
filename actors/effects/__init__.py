"""Effects: what a transaction promises, and what is done about it after the commit. A file a noun.

Each file has the payload of an outbox row, the function that makes a promise of it, and the function that carries it
out. A file is registered by being in this folder.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)
