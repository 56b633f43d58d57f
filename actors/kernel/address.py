"""The address of an actor: a kind and a key. It is always valid, whether the actor is awake or not."""

from __future__ import annotations

from typing import NamedTuple


class Address(NamedTuple):
    """`account/1103`, `home/1103`, `public/local`: the kind of the pool, and the key within it."""

    kind: str
    key: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.key}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Return the address that is written so."""
        kind, _, key = text.partition("/")
        return cls(kind, key)
