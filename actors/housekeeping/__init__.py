"""Housekeeping: rows that expire or are completed, and texts that are masked."""
