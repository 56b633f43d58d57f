"""Texts and documents made to be slow: each reader gets the largest that is let in, and may not keep the loop.

`python -m tests.fuzz --minutes 10` searches with random mixtures; `test_fuzz.py` plays a fixed selection.
"""
