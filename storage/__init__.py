"""Rows and transactions. This room knows nothing of actors or HTTP.

Each noun has a file with its SQL at the top, its records, and functions that take a connection first and await nothing
else.
"""
