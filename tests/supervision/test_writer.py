"""Writing the log: never waiting for its reader, bounded, and honest about what is missing."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from troupe.supervision.log.writer import LogStream, Writer

from ..pipes import full_pipe


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A full pipe: its reading and its writing end."""
    reading, writing = full_pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        os.close(descriptor)


def written(reading: int) -> str:
    """Everything that comes out of the pipe until its other end is closed, without what filled it."""
    with os.fdopen(os.dup(reading)) as file:
        return file.read().lstrip("x")


def read_of(reading: int, writing: int, writer: Writer) -> str:
    """What the writer has written, read as a reader does that comes back."""
    result: list[str] = []
    reader = threading.Thread(target=lambda: result.append(written(reading)))
    reader.start()
    writer.close(10)
    # The reader sees the end of the pipe when its last writing end is closed.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, writing)
    os.close(null)
    reader.join(10)
    return result[0]


def test_lines_wait_for_a_reader_that_comes_back_and_arrive_in_order(pipe: tuple[int, int]) -> None:
    writer = Writer(LogStream(pipe[1]))
    for number in range(100):
        writer.write(f"{number}\n")
    assert read_of(*pipe, writer) == "".join(f"{number}\n" for number in range(100))


def test_a_full_queue_refuses_lines_and_keeps_the_ones_it_took(pipe: tuple[int, int]) -> None:
    writer = Writer(LogStream(pipe[1]), most_waiting=10)
    writer.write("1234\n")
    writer.write("5678\n")
    with pytest.raises(BlockingIOError):
        writer.write("9\n")
    assert read_of(*pipe, writer) == "1234\n5678\n"


def test_closing_does_not_wait_for_a_reader_that_stays_away(pipe: tuple[int, int]) -> None:
    writer = Writer(LogStream(pipe[1]))
    writer.write("never read\n")
    writer.close(0.05)
    with pytest.raises(BlockingIOError):
        writer.write("too late\n")
    os.close(os.dup(pipe[0]))


def test_a_shared_terminal_that_was_made_non_blocking_gets_every_line(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    writer = Writer(LogStream(pipe[1]))
    writer.write("a line\n")
    assert read_of(*pipe, writer) == "a line\n"


def test_lines_for_a_closed_pipe_are_counted(pipe: tuple[int, int]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    writer = Writer(LogStream(writing))
    writer.write("one\n")
    writer.write("two\n")
    writer.close(10)
    assert writer.take_lost() == 2
    assert writer.take_lost() == 0
    os.close(writing)


def test_lines_for_a_full_disk_are_counted() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    writer = Writer(LogStream(full))
    writer.write("one\n")
    writer.close(10)
    assert writer.take_lost() == 1
    os.close(full)


def test_a_closed_standard_stream_is_never_given_to_another_file() -> None:
    program = (
        "import os; from troupe.supervision.log.writer import hold_standard_streams\n"
        "os.close(0); os.close(1); hold_standard_streams()\n"
        "other = os.open('/dev/zero', os.O_RDONLY); os.write(2, f'{other > 2} {os.read(0, 1)}'.encode())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "True b''"
