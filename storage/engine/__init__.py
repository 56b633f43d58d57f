"""PostgreSQL itself: the server, the connections, the schema, and the process that may write.

It knows no noun of Troupe.
"""
