"""The errors inside the groups that nurseries make of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, cast

# These end the series, or the test, at once. They are not failures of a scenario.
EXITS = (KeyboardInterrupt, SystemExit, GeneratorExit)


def leaves(error: BaseException | None) -> Iterator[BaseException]:
    """Return the errors themselves, without the groups around them."""
    if isinstance(error, BaseExceptionGroup):
        # isinstance leaves the type of the group open.
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaves(inner)
    elif error is not None:
        yield error


def innermost(error: BaseException | None) -> BaseException | None:
    """Return the only error of a group. Several errors stay a group."""
    inside = list(leaves(error))
    return inside[0] if len(inside) == 1 else error


def exit_among(error: BaseException | None) -> BaseException | None:
    """Return the Ctrl-C, exit or skip among the errors of a run, if any."""
    exits = (*EXITS, *_exits_of_pytest())
    return next((leaf for leaf in leaves(error) if isinstance(leaf, exits)), None)


def _exits_of_pytest() -> tuple[type[BaseException], ...]:
    # A scenario that raises one of them has imported pytest. The kit does not import it, because it also works without.
    pytest: Any = sys.modules.get("pytest")
    return (pytest.skip.Exception, pytest.exit.Exception) if pytest else ()
