"""Rows and results in memory: the bases of caches, and what is read again when it may have changed."""
