"""A score for trends: by the number of accounts, by its growth, and by its age.

A hundred uses by an account count as a single use. Every score is halved with each day. `storage/trends.py` selects
what may have a score, `actors/shown/trends.py` what is shown of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from urllib.parse import urlsplit

LEAST_ACCOUNTS = 5  # fewer are no trend
HALF_LIFE = timedelta(days=1)
DAY = timedelta(days=1)


def growth_score(days: Sequence[int]) -> float:
    """Return the score of a hashtag, a link, or another thing that is used day by day; 0 if it does not trend.

    `days` are the numbers of accounts that used it, today first. The day that stands out most decides.
    """
    scores = (_decayed(_growth(accounts, before), DAY * age) for age, (accounts, before) in enumerate(pairwise(days)))
    return max(scores, default=0.0)


def response_score(accounts: int, age: timedelta) -> float:
    """Return the score of a status that this number of other accounts favourited or boosted; 0 if it does not trend."""
    return _decayed(accounts, age) if accounts >= LEAST_ACCOUNTS else 0.0


def publishers_of(url: str) -> list[str]:
    """Return the domains that publish a page: its host, then the domains above it, as in `b.example`, `example`."""
    labels = (urlsplit(url).hostname or "").split(".")
    return [".".join(labels[place:]) for place in range(len(labels))]


def _growth(accounts: int, before: int) -> float:
    """Return how far a day is above the day before, in proportion: ten times as much counts more than a tenth more."""
    if accounts < LEAST_ACCOUNTS or accounts <= before:
        return 0.0
    return (accounts - before) ** 2 / max(before, 1)


def _decayed(score: float, age: timedelta) -> float:
    return score * 0.5 ** (max(age, timedelta()) / HALF_LIFE)
