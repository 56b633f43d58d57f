"""What is done once in the process that commands are forked from, after its imports: a third of the CPU of a start."""

import gc

from troupe.http.framework import url_map

url_map()
# What is there by now stays. Without this, the collector looks at all of it in each process that is forked.
gc.collect()
gc.freeze()
