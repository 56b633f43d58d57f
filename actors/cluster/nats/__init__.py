"""The transport between the nodes of a real cluster: a client for NATS on Trio, which carries datagrams.

Each node subscribes to one subject, `troupe.<cluster>.<node>`, and publishes to those of the others. NATS stores
nothing: a datagram to a node that is not connected is lost, and found missing by the layer above (`../bundles.py`).

    protocol.py    the text protocol of NATS, without I/O: an incremental parser, and the writers
    servers.py     the servers of `bus_url`, those that a server names, and how to log in to them
    nkeys.py       a login by signature
    parts.py       datagrams that are larger than the server takes, split and put together again
    handshake.py   a new connection: INFO, TLS, login, subscription
    connection.py  an open connection: reading, writing, and whether the server still answers
    transport.py   the transport: connected to one of the servers, and again after each loss
"""
