"""Rows about other servers: their accounts, posts, keys and files, and what they are sent."""
