"""The outbox: promises as rows, and the relays that execute them.

The outbox has queues. Each queue has a relay of its own, so that a slow mail server delays no timeline. A turn
publishes its facts itself; the relay of facts does so only after a crash, or if timelines stay crowded
(`fact_relay.py`). Relays execute all other effects.

A relay claims rows and renews its claims while it works (`relay.py`). So no two relays execute one row at the same
time, and the rows of a relay that died are free again after at most 30 s. Effects of one partition keep their order,
also when an effect is retried. A queue has a number of workers; a group of partitions, such as another server, gets
only its share of them. One statement deletes the rows of all effects that finished during the previous statement
(`deletions.py`).

In a cluster each node has a relay for each queue. The relays of facts divide their rows by shards (`fact_relay.py`),
all other relays by claims alone. The claims of a node end with the node: the transaction that deletes its row releases
them (`release_of` in `storage/outbox.py`). No clock ends them before.
"""
