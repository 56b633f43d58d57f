"""A cluster: several server processes (nodes) on one database. One process alone is the usual case, and costs nothing.

Each account has one owner, the node of its shard (`storage/engine/shards.py`): commands of an account or of its lists
are executed there. Everything else is a copy that each node keeps for its own readers: timelines, the relations and
flags of viewers, caches, feeds and streams. After each commit the facts of the change go to all nodes as one message,
and every node applies them to its copies as the turn does to its own. So no read and no stream crosses nodes.

A node may answer from memory only while it knows that it has received all facts up to a moment ago.

    others.py      the other nodes, as the rest of this room sees them, and a server that is alone
    membership.py  the rows of the nodes: which are members, which own the shards, and which are dead
    cluster.py     a node from its start to its end: it joins, polls its peers, takes datagrams, and is complete or not;
                   with the port to a transport of datagrams
    peers.py       the state of another node: what of it was applied here, and until when no fact can be missing; with
                   the clock of leases
    bundles.py     facts for the other nodes, their acknowledgements, and polls, which find lost bundles
    counts.py      the counts of rate limits and daily quotas, which the nodes tell each other
    commands.py    commands for the owners of accounts, and their answers
    wire.py        the datagrams as bytes
    nats/          the transport of a real cluster
"""
