"""Facts: a class for each kind of committed change, a file for each noun. All files of this folder are registered.

A fact such as `EditedStatus` (`statuses.py`) has everything about the change: `cache` updates the caches at once, then
`notify_actors` sends messages to the awake actors. The class of the message (`StatusEdited`) stands beside the fact.
The feeds of these actors show an event (`StatusAmended`). A fact becomes no further names on its way; only a deletion
has a fourth name, for its relay.

A fact that must survive a crash is a row of the outbox: `@stored_as("edit", {"id": "id"})` names the kind of the row,
its keys, and the field for each key. `promised` returns the promises for all facts of a class in a change: mostly a row
for each fact. Some facts are stored as other facts: a deletion as a row for the status and a row for each boost. After
a crash the relay makes the fact from its row, reads the current state (`read_again`), and applies the result. One
function does this for all facts (`publish_again` in `effects/registry.py`). Facts that streams show are `streamed`:
they are logged after their publication, and `timelines/missed.py` shows them to clients that were interrupted.

In a cluster every node applies the facts of all nodes, in any order of their senders. So a fact needs no state of its
sender, and its rows are cached by `Facts.put_account` and `Facts.put_status`, which let no older row replace a newer
one. When facts are lost, `Facts.forget` brings all memory back from rows: a cache that observes facts also registers
with `clear_by` or `reread_by`. `tests/architecture/caches.txt` names everything in memory.

Other rooms observe facts: `facts.observe(RevokedToken, ...)` drops a token from the cache of the http room and closes
its streams. Work that no client sees at once and that changes no cache, such as a mail, is an effect and not a fact.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f".{_module.name}", __name__)
