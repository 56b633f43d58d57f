"""What is done once in the process that commands are forked from, after its imports: a third of the CPU of a start."""

import gc

import troupe.http.framework  # noqa: F401  # imported when the first request needs it
from troupe.http.router import all_paths

all_paths()
# What is there by now stays. Without this, the collector looks at all of it in each process that is forked.
gc.collect()
gc.freeze()
