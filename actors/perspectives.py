"""Perspectives that several actors of one account hold: its own, its home and its lists.

They are equal nearly always, and with many follows they are most of what these actors hold. So equal ones are one
object. Each actor still learns of changes by itself: while one of them knows more, it has a perspective of its own.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

from .rules.visibility import Perspective


class SharedPerspectives:
    """The latest perspective of each account, as long as an actor holds it."""

    def __init__(self) -> None:
        self._held: WeakValueDictionary[int, Perspective] = WeakValueDictionary()

    def share(self, perspective: Perspective) -> Perspective:
        """Return an equal perspective that another actor holds; this one if there is none."""
        if perspective.account_id is None:
            return perspective
        held = self._held.get(perspective.account_id)
        if held is not None and held == perspective:
            return held
        self._held[perspective.account_id] = perspective
        return perspective
