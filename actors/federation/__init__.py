"""The documents and activities of other servers: fetched, proven, and done here by the actors of their accounts."""
