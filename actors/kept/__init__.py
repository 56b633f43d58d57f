"""Caches of rows and decisions that facts keep current."""
