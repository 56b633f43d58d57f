"""Inputs that make parsers and rules slow, and the measure of what each costs.

A cost is CPU time of this thread, compared with a loop that is measured right before: a busy machine slows both. So a
figure is in milliseconds of an idle machine, and a test may hold it. The best of several tries counts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

MOST_MILLISECONDS = 50.0  # that one input may keep the loop for
REFERENCE_MILLISECONDS = 2.6  # of the loop of `_calibrate` on the idle machine that the figures are given for
REFERENCE_ROUNDS = 130_000
TRIES = 5  # of an input that seems too dear

MANY_LABELS = "\xe9." * 60 + "c"  # a domain

# What other people's texts are made of: each is repeated, nested, and put beside each other one.
FRAGMENTS = (
    "&", "\xa0", "&&&&&&&x", "&amp;", "&#1;", "&#x1F600;", "&NotEqualTilde;", "<", ">", "<b>", "</b>", "<p>", "</p>",
    "<br>", "<a href='https://e.x/'>", "</a>", '<a href="', "<ul><li>", "<blockquote>", "<span class='h-card'>",
    "<pre>\n", "<h1>", "<ruby><rt>", "<table><td>", "<div>", "<svg>", "<math><mi>", "</math>",
    "<annotation>", "<script>", "<style>", "<!--", "<![CDATA[",
    "<font a=1>", "<b a=1>", "<template>", "<select>", "<?x", "\u0301", "e\u0301", "a\u0315\u0300", "\u0f40\u0fb2",
    "\u1100\u1161", "\U0001f1e6", "\U0001f468\u200d", "\u0915\u094d", "\u200d", "\u202e", "\ufeff", "\ufdfa", "\u0130",
    "\xdf", "\u0390", "@a ", "@a@b.c ", "@a@\xe9.c ", "#a ", "#\xe9 ", "#\xe9", "https://a.b/ ", "http://\xe9.com ",
    "https://", "https://a.b/)", "https://[", "*a* ", "**a", "_a_", "`a", "[a](b)", "[", "](", "> ", "- a\n", "1. a\n",
    "~~a", "\\", "\n", "\r\n", "\t", " ", "\0", "a ", "a", "a.", "a-", ":ab:", ":a", "::", "'", '"', "\ud800", "x" * 50,
    "{", "}", ",", ";", "=", "%", "%C3", "/", "../", "(", ")", "0", "-", "_", ".",
    "https://\u2764.\u2764 ", "https://xn--\u2764.a ", "gemini://a.b ", "xmpp:a@b.c ", "xmpp:a", "magnet:?xt=a ",
    '<img class="tex" alt="a">', '<span class="katex-html">', "</span>", "<sup><a>1</a></sup>",
    '#<a href="https://e.x/" class="mention">', "@<span class='h-card'><a href='https://e.x/' class='mention'>",
    f"<a href='https://e.x/'>@a@{MANY_LABELS}</a>", f"<b>https://{MANY_LABELS}</b>\n", "[a]: b\n\n", "![](a)", "\\@a",
    "a" + "\u0300" * 8, "**\u3002", "\u2028", '"a\n",', "\u540d\u524d ", "during:2026-01 ", "1 Jan 2026 0:0 +0 ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """A function of a text, with the largest text that is let in to it, in characters.

    `prepare` makes of the text what the function takes, and is not measured: bytes, or a document with the text in it.
    """

    name: str
    largest: int
    run: Callable[[Any], object]  # what `prepare` returns
    prepare: Callable[[str], Any] = str


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What one input has cost. The dearest is the greatest."""

    milliseconds: float
    target: str
    input: str


def repeated(fragment: str, largest: int) -> str:
    return (fragment * (largest // len(fragment) + 1))[:largest]


def nested(opening: str, closing: str, largest: int) -> str:
    half = largest // 2
    return repeated(opening, half) + repeated(closing, half)


def all_inputs(largest: int) -> Iterator[tuple[str, str]]:
    """Return the name and the text of each repetition, then of each pair of fragments, nested and in turns."""
    for fragment in FRAGMENTS:
        yield f"{fragment!r} repeated", repeated(fragment, largest)
    for one in FRAGMENTS:
        for other in FRAGMENTS:
            if one != other:
                yield f"{one!r} and {other!r} in turns", repeated(one + other, largest)
                yield f"{one!r} before {other!r}", nested(one, other, largest)


def some_inputs(largest: int, seed: int, pairs: int) -> Iterator[tuple[str, str]]:
    """Return all repetitions, and a few of the pairs, which differ by the seed."""
    yield from islice(all_inputs(largest), len(FRAGMENTS))
    chance = random.Random(seed)
    for _ in range(pairs):
        one, other = chance.sample(FRAGMENTS, 2)
        yield f"{one!r} and {other!r} in turns", repeated(one + other, largest)
        yield f"{one!r} before {other!r}", nested(one, other, largest)


def random_input(largest: int, chance: random.Random) -> tuple[str, str]:
    """Return a text of a few fragments, each in a row of its own length, all repeated."""
    rows = [chance.choice(FRAGMENTS) * chance.choice((1, 1, 2, 3, 10, 100, 2_000)) for _ in range(chance.randint(2, 5))]
    return f"{[row[:60] for row in rows]!r} in turns", repeated("".join(rows), largest)


def cost_of(target: Target, name: str, text: str, enough: float = MOST_MILLISECONDS / 2) -> Cost:
    """Return the cost of an input. It is measured again, up to `TRIES` times, until it is at most `enough`."""
    best = float("inf")
    for _ in range(TRIES):
        prepared = target.prepare(text)
        unit = _calibrate() / REFERENCE_MILLISECONDS
        begun = time.thread_time()
        target.run(prepared)
        best = min(best, (time.thread_time() - begun) * 1000 / unit)
        if best <= enough:
            break
    return Cost(round(best, 1), target.name, name)


def dearest(target: Target, inputs: Iterable[tuple[str, str]], count: int) -> list[Cost]:
    """Return the dearest inputs of a target, at most `count`. Those that it allows are measured once."""
    costs = (cost_of(target, name, text, enough=MOST_MILLISECONDS) for name, text in inputs)
    return sorted(costs, reverse=True)[:count]


_last: tuple[float, float] = (0.0, 0.0)  # the thread's time when the loop was last measured, and what it took


def _calibrate() -> float:
    """Return how many milliseconds of CPU a fixed loop takes now. It is measured again after half a second of CPU."""
    global _last
    begun = time.thread_time()
    if _last[1] and begun - _last[0] < 0.5:
        return _last[1]
    total = 0
    for number in range(REFERENCE_ROUNDS):
        total += number & 7
    ended = time.thread_time()
    _last = ended, (ended - begun) * 1000
    return _last[1]
