"""The children of the supervision tree: the database, the actors, the HTTP server, the queues."""
