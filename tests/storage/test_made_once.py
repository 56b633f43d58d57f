"""What is made for all processes of a run is made by one of them, and whole before another uses it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from ..made_once import made_once

ASKING = 4


def test_it_is_made_by_the_first_that_asks_and_the_others_wait(tmp_path: Path) -> None:
    made: list[Path] = []
    together = Barrier(ASKING)

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "first").touch()
        (folder / "last").touch()

    def ask() -> set[str]:
        together.wait(10)
        return {path.name for path in made_once(tmp_path / "shared", make).iterdir()}

    with ThreadPoolExecutor(ASKING) as threads:
        asked = [threads.submit(ask) for _ in range(ASKING)]
        assert [one.result(10) for one in asked] == [{"first", "last"}] * ASKING
    assert made == [tmp_path / "shared"]


def test_what_a_process_has_begun_and_not_finished_is_made_anew(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made_once(tmp_path / "shared", fail)
    assert [*made_once(tmp_path / "shared", lambda folder: (folder / "whole").touch()).iterdir()] == [
        tmp_path / "shared" / "whole"
    ]
