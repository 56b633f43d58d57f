"""Statements that keep the database up: what expires, merges and is purged, copies, and figures for operators."""
