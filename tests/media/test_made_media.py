"""What the tests make once: the same file is made again by copying, and nothing else is."""

import json
from pathlib import Path

import pytest

from troupe.actors.media.jobs import RESULT, Job, results_of

from ..made_media import MadeMedia


class Begun:
    """Runs in place of media processes: counts them, and writes results that name their job."""

    def __init__(self) -> None:
        self.count = 0
        self.code = 0

    async def __call__(self, job: Job) -> int:
        self.count += 1
        write(job)
        return self.code


def write(job: Job) -> None:
    Path(job.folder, f"{job.name}.png").write_bytes(Path(job.source).read_bytes() * 2)
    Path(job.folder, RESULT).write_text(json.dumps({"made": f"{job.name}.png"}))


def written(job: Job) -> dict[str, bytes]:
    """The results that are there."""
    files = {name: Path(job.folder, name) for name in results_of(job)}
    return {name: path.read_bytes() for name, path in files.items() if path.exists()}


@pytest.fixture
def begun() -> Begun:
    return Begun()


@pytest.fixture
def made(begun: Begun) -> MadeMedia:
    made = MadeMedia()
    made.run = begun
    return made


def a_job(folder: Path, name: str, content: bytes = b"picture", width: int = 0) -> Job:
    source, place = folder / f"sent-{name}", folder / name
    source.write_bytes(content)
    place.mkdir()
    return Job("image", "png", str(source), str(place), name, width=width)


async def test_a_file_that_was_made_is_made_again_under_the_name_of_the_new_job(
    tmp_path: Path, made: MadeMedia, begun: Begun
) -> None:
    for name in ("aa", "bb"):
        assert await made(job := a_job(tmp_path, name)) == 0
        result = json.dumps({"made": f"{name}.png"}).encode()
        assert written(job) == {f"{name}.png": b"picturepicture", RESULT: result}
    assert begun.count == 1


async def test_another_file_or_another_size_or_a_failure_is_a_process_of_its_own(
    tmp_path: Path, made: MadeMedia, begun: Begun
) -> None:
    begun.code = 1
    assert [await made(a_job(tmp_path, name)) for name in ("aa", "bb")] == [1, 1]
    begun.code = 0
    await made(a_job(tmp_path, "cc"))
    await made(a_job(tmp_path, "dd", b"other"))
    await made(a_job(tmp_path, "ee", width=7))
    assert begun.count == 5
    made.every = True
    await made(a_job(tmp_path, "ff"))
    assert begun.count == 6
