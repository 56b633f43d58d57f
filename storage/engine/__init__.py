"""PostgreSQL itself: the server, the connections, the schema, and which process may write. No nouns of Troupe's."""
