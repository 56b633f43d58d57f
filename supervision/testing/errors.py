"""Errors inside the groups that nurseries make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast


def leaves(error: BaseException | None) -> Iterator[BaseException]:
    """The errors themselves, without the groups around them."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaves(inner)
    elif error is not None:
        yield error


def innermost(error: BaseException | None) -> BaseException | None:
    """The error itself when it is the only one; several stay a group."""
    inside = list(leaves(error))
    return inside[0] if len(inside) == 1 else error
