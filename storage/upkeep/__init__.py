"""Statements for upkeep: expiry, merges, purges, copies of the database, and figures for staff and operators."""
