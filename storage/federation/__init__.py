"""Rows about other servers: their accounts, posts, keys and files, and the activities for them."""
