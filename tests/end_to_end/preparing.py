"""What is done once in the process that commands are forked from, after its imports: a third of the CPU of a start."""

import gc
from importlib import import_module

from troupe.http.router import all_paths

import_module("troupe.http.framework")  # which a server imports with its first request for a page
all_paths()
# What is there by now stays. Without this, the collector looks at all of it in each process that is forked.
gc.collect()
gc.freeze()
