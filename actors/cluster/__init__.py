"""A cluster: several server processes (nodes) on one database. One process alone is the usual case, and costs nothing.

Each account has one owner, the node of its shard (`storage/engine/shards.py`): commands of an account or of its lists
are executed there. Everything else is a copy that each node keeps for its own readers: timelines, the relations and
flags of viewers, caches, feeds and streams. After each commit the facts of the change go to all nodes as one message,
and every node applies them to its copies as the turn does to its own. So no read and no stream crosses nodes.

A node may answer from memory only while it knows that it has received all facts up to a moment ago.
"""
