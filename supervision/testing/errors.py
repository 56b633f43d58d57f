"""Errors inside the groups that nurseries make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

# Not failures of a scenario but the wish of whoever runs it: they end the series, or the test, at once.
WISHES = (KeyboardInterrupt, SystemExit, GeneratorExit, pytest.skip.Exception, pytest.exit.Exception)


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


def wish(error: BaseException | None) -> BaseException | None:
    """The Ctrl-C, exit or skip among the errors of a run, if there is one."""
    return next((leaf for leaf in leaves(error) if isinstance(leaf, WISHES)), None)
