"""The commands that accounts and lists take, a file for each noun.

Importing this registers the turn of every command. A file is registered by being in this folder.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)
