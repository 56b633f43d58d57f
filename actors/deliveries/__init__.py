"""Delivering activities to other servers: the requests, and what is known of the servers that they go to."""
