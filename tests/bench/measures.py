"""All rows by key, in the order in which they are measured and shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .abroad import Abroad
from .bench import Bench
from .cold import cold_rows
from .federation import deliveries, inbox, received
from .fill import Cast
from .looks import looks
from .posts import crowd, post, posts_at_once
from .reads import pages, read, read_ourselves
from .samples import Row
from .sockets import one_stops_reading, sockets

Measures = dict[str, Callable[[], Row]]
CROWDS = ("small crowd", "crowd", "large crowd")
# The rows that depend on the number of statuses.
GROWING = ("cold status", "cold deep", "cold home", "post")


def all_measures(bench: Bench, others: Abroad, metrics: int) -> Measures:
    """The cold ones first: other rows wake homes and read statuses."""
    warm = pages(bench)
    size = bench.size
    return {
        **cold_rows(bench),
        **{key: partial(read, bench, page) for key, page in warm.items()},
        **{f"{key} by Python": partial(read_ourselves, bench, warm[key]) for key in ("home", "status")},
        "post": partial(post, bench),
        "posts at once": partial(posts_at_once, bench),
        **{
            key: partial(crowd, bench, author, followers)
            for key, author, followers in zip(CROWDS, Cast.LOUD, size.crowds, strict=True)
        },
        "sockets": partial(sockets, bench, Cast.STREAMED, size.sockets),
        "stopped reader": partial(one_stops_reading, bench),
        "many sockets": partial(sockets, bench, Cast.MANY_STREAMED, size.many_sockets),
        "deliveries": partial(deliveries, bench, others),
        "inbox": partial(inbox, bench),
        "received": partial(received, bench),
        **looks(bench, metrics),
    }


def growing_measures(bench: Bench) -> Measures:
    """Those that are measured with fewer statuses too."""
    every = {**cold_rows(bench), "post": partial(post, bench)}
    return {key: measure for key, measure in every.items() if key in GROWING}
