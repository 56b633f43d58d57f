"""Rows and results in memory: the bases of caches, and rows that are read again when they may have changed."""
