"""What a media process says of its work is believed no further than its job goes: it may be an attacker's by then."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from troupe.actors.media.jobs import FileRefused, Job, made_of, results_of, take_back
from troupe.actors.media.page_facts import LONGEST_ADDRESS, PageFacts, page_of
from troupe.storage.media import ProcessedMedia

JOB = Job("image", "png", "source", ".", "4f01")
FILM = dataclasses.replace(JOB, task="film", kind="mp4", ffmpeg="ffmpeg", ffprobe="ffprobe")
META = {"original": {"width": 2, "height": 1, "size": "2x1", "aspect": 2.0}}
MADE = ProcessedMedia("image", "4f01.png", "image/png", 100, "4f01-small.webp", "LEHV6nWB2yk8pyo0adR*.7kCMdnj", META)


def result(**changes: Any) -> dict[str, Any]:
    return {"made": json.loads(json.dumps(dataclasses.asdict(MADE) | changes))}


def test_an_honest_result_is_taken_as_it_is() -> None:
    assert made_of(result(), JOB) == MADE
    film = {"file": "4f01.mp4", "file_type": "video/mp4", "type": "gifv"}
    assert made_of(result(**film), FILM).type == "gifv"


@pytest.mark.parametrize(
    "lie",
    [
        {"file": "4f01/../../base_url"},
        {"file": "4f01.svg"},
        {"file": "result.json"},
        {"file": "4f01.mp4", "file_type": "video/mp4", "type": "video"},
        {"file": None},
        {"thumbnail_file": "../control.sock"},
        {"thumbnail_file": "4f01.png"},
        {"file_type": "text/html"},
        {"type": "video"},
        {"type": ["image"]},
        {"blurhash": "<script>"},
        {"blurhash": 7},
        {"file_size": "large"},
        {"file_size": 2**80},
        {"meta": []},
        {"meta": {"original": "a\u0000b"}},
        {"meta": {"text": "x" * 1000}},
        {"meta": {"a": {"b": {"c": 1}}}},
        {"meta": {str(n): n for n in range(1000)}},
        {"more": 1},
    ],
    ids=str,
)
def test_a_lie_is_no_result(lie: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, LookupError)):
        made_of(result(**lie), JOB)


@pytest.mark.parametrize(
    "lie",
    [
        {}, {"page": None}, {"page": []}, {"page": "title"}, {"page": {"colour": "red"}}, {"page": {"title": None}},
        {"page": {"title": ["tea"]}}, {"page": {"width": 640}}, {"page": {"title": "x" * (LONGEST_ADDRESS + 1)}},
    ],
)  # fmt: skip
def test_a_lie_about_a_page_is_no_result(lie: dict[str, Any]) -> None:
    honest = {"title": "x" * LONGEST_ADDRESS, "width": "640"}
    assert page_of({"page": honest}, JOB) == PageFacts(**honest)
    with pytest.raises((ValueError, LookupError)):
        page_of(lie, JOB)


def test_a_refusal_is_short() -> None:
    with pytest.raises(FileRefused) as refusal:
        made_of({"refused": "x" * 100_000}, JOB)
    assert len(str(refusal.value)) == 500


def test_what_another_user_wrote_is_the_servers_again(tmp_path: Path) -> None:
    """Without following a link: only root's media processes write as another user."""
    job = dataclasses.replace(JOB, folder=str(tmp_path))
    small, picture, *_ = sorted(results_of(job))
    (tmp_path / picture).write_bytes(b"picture")
    outside = tmp_path / "outside"
    outside.touch()
    (tmp_path / small).symlink_to(outside)
    other = 65_533 if os.geteuid() == 0 else os.geteuid()
    for path in (tmp_path / picture, outside):
        os.chown(path, other, -1)
    take_back(job)
    assert (tmp_path / picture).stat().st_uid == os.geteuid()
    assert outside.stat().st_uid == other
