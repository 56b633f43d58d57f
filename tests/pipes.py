"""Pipes whose reader stays away."""

import os
from contextlib import suppress


def full_pipe() -> tuple[int, int]:
    """A pipe that takes no more: its reading and its writing end. The caller closes both."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while os.write(writing, b"x" * 4096):
            pass
    os.set_blocking(writing, True)
    return reading, writing
