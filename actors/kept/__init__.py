"""Rows and decisions that are kept in memory until a fact drops or changes them."""
