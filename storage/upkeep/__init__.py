"""Statements that keep the database up: what expires, merges, purges and copies, and figures for staff and operators."""
