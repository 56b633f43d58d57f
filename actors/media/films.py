"""Video and sound, in a process of its own: ffprobe reads the file, ffmpeg encodes it. Only local files are opened."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

from ...storage.engine.json_values import JsonObject
from ...storage.media import ProcessedMedia
from ..rules.limits import VIDEO_FRAMES_PER_SECOND, VIDEO_PIXELS
from . import decoders, images
from .child_processes import in_child_process, run_program
from .images import finished
from .jobs import UNVERIFIED, FileRefused, Job

# The demuxer for each kind. If ffmpeg chose the demuxer itself, it might follow the addresses in a playlist.
DEMUXERS = {
    "mp4": "mov", "mov": "mov", "m4a": "mov", "webm": "matroska", "mp3": "mp3", "ogg": "ogg", "wav": "wav",
    "flac": "flac", "aac": "aac", "gif": "gif",
}  # fmt: skip
LOCAL_FILES = ("-protocol_whitelist", "file")
NO_METADATA = ("-map_metadata", "-1", "-map_chapters", "-1")
# Pixels that are no squares become squares, because clients show a film as its size says. H.264 needs even sides.
SQUARE_PIXELS = "scale=max(2\\,ceil(iw*sar/2-0.5)*2):max(2\\,trunc(ih/2)*2),setsar=1"
VIDEO = (
    "-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-pix_fmt", "yuv420p", "-threads", "2",
    "-movflags", "+faststart",
)  # fmt: skip
# The light of a film with high dynamic range as usual screens show it, where a film without this is grey and pale. Its
# space is named, because files leave parts of it out. FFmpeg may have been built without these filters.
HIGH_RANGES = {"smpte2084", "arib-std-b67"}
USUAL_RANGE = (
    "zscale=tin={transfer}:min=2020_ncl:pin=2020:t=linear:npl=100,format=gbrpf32le,tonemap=hable:desat=0,"
    "zscale=p=709:t=709:m=709:r=limited,format=yuv420p"
)
NEEDED_FILTERS = (b" zscale ", b" tonemap ")
# The frames of a GIF are kept, each with its time in hundredths of a second. At a fixed rate FFmpeg shows the last
# frame for a moment only. Without frames that are coded out of order, a frame lasts until the next packet.
GIF_TIMES = ("-fps_mode", "vfr", "-enc_time_base", "1:100", "-bf", "0", "-video_track_timescale", "100")
GIF_DURATIONS = "setts=duration=if(gt(NEXT_PTS\\,PTS)\\,NEXT_PTS-PTS\\,{total}-PTS)"
SOUND_OF_VIDEO = ("-c:a", "aac", "-b:a", "128k", "-ac", "2")
COPY = ("-c", "copy", "-movflags", "+faststart")
STILL = ("-frames:v", "1", "-pix_fmt", "rgb24")  # the first picture
SOUND = ("-c:a", "libmp3lame", "-q:a", "2", "-ac", "2")

_INPUT = ("-nostdin", "-y", "-v", "error", *LOCAL_FILES, "-f")


def make_film(job: Job) -> ProcessedMedia:
    """Return an MP4 and a still of it, or an MP3, for any format that FFmpeg reads."""
    report = _probe(job, job.source, DEMUXERS[job.kind])
    video = next((stream for stream in report["streams"] if _is_film(stream)), None)
    audio = next((stream for stream in report["streams"] if _is_sound(stream)), None)
    if video is not None:
        return _make_video(job, video, audio)
    if audio is None:
        raise FileRefused(UNVERIFIED)
    cover = next((stream for stream in report["streams"] if stream.get("codec_type") == "video"), None)
    return _make_sound(job, audio, cover)


def make_gif(job: Job) -> ProcessedMedia:
    """Return an image for a GIF, or a film if it moves: that takes a tenth of the bytes."""
    if in_child_process(lambda: decoders.frames_of(decoders.open_image(job.kind, job.source))) > 1:
        return make_film(job)
    return ProcessedMedia(**in_child_process(lambda: asdict(images.make_image(job))))


def _make_video(job: Job, video: JsonObject, audio: JsonObject | None) -> ProcessedMedia:
    _check(video)
    file = f"{job.name}.mp4"
    still = f"{job.name}.png"
    kept = _is_kept(job, video, audio)
    picture, sound = _map(video), _map(audio) if audio else ("-an",)
    filters = ("-vf", _filters(job, video))
    encoding = COPY if kept else (*VIDEO, *filters, *_times(job, video), *(SOUND_OF_VIDEO if audio else ()))
    # ffmpeg is started once for both files: the start takes longer than the still.
    _ffmpeg(
        job,
        ((*picture, *sound, *encoding, *NO_METADATA), file),
        ((*picture, *STILL, *filters, *NO_METADATA), still),
    )
    pictured = ProcessedMedia(**in_child_process(lambda: asdict(finished(job, "video", still, "image/png"))))
    path = Path(job.folder) / file
    size = pictured.meta["original"]
    facts = _video_facts(_probe(job, str(path), "mov"), size)
    return ProcessedMedia(
        "video" if audio else "gifv", file, "video/mp4", path.stat().st_size, pictured.thumbnail_file,
        pictured.blurhash, facts | {"small": pictured.meta["small"]},
    )  # fmt: skip


def _make_sound(job: Job, audio: JsonObject, cover: JsonObject | None) -> ProcessedMedia:
    file = f"{job.name}.mp3"
    encoding = ("-c", "copy") if job.task == "copy" and audio.get("codec_name") == "mp3" else SOUND
    _ffmpeg(job, ((*_map(audio), "-vn", *encoding, *NO_METADATA), file))
    path = Path(job.folder) / file
    report = _probe(job, str(path), "mp3")
    seconds, rate = _seconds(report), int(report["format"].get("bit_rate") or 0)
    meta = {"length": _clock(seconds), "duration": seconds, "original": {"duration": seconds, "bitrate": rate}}
    sound = ProcessedMedia("audio", file, "audio/mpeg", path.stat().st_size, None, None, meta | _sound_facts(report))
    return _with_cover(job, sound, cover) if cover is not None else sound


def _with_cover(job: Job, sound: ProcessedMedia, cover: JsonObject) -> ProcessedMedia:
    """Return the sound with the picture that its file has, if the picture can be read."""
    still = f"{job.name}.png"
    try:
        _check(cover)
        _ffmpeg(job, ((*_map(cover), *STILL, "-vf", SQUARE_PIXELS, *NO_METADATA), still))
        pictured = ProcessedMedia(**in_child_process(lambda: asdict(finished(job, "image", still, "image/png"))))
    except (FileRefused, ChildProcessError):
        return sound
    small = {"small": pictured.meta["small"]}
    return replace(sound, thumbnail_file=pictured.thumbnail_file, blurhash=pictured.blurhash, meta=sound.meta | small)


def _map(stream: JsonObject) -> tuple[str, str]:
    """Return the options that take a stream."""
    return "-map", f"0:{int(stream['index'])}"


def _is_kept(job: Job, video: JsonObject, audio: JsonObject | None) -> bool:
    """True for a film of another server that every browser plays: its pictures and sound stay as they are."""
    plays_sound = audio is None or audio.get("codec_name") == "aac"
    plays_video = video.get("codec_name") == "h264" and video.get("pix_fmt") == "yuv420p"
    return job.task == "copy" and plays_video and plays_sound


def _check(video: JsonObject) -> None:
    width, height = round(int(video.get("width") or 0) * _pixel_shape(video)), int(video.get("height") or 0)
    if not width or not height:
        raise FileRefused(UNVERIFIED)
    if width * height > VIDEO_PIXELS:
        raise FileRefused(f"{width}x{height} videos are not supported")
    rate = _rate(video)
    if rate > VIDEO_FRAMES_PER_SECOND:
        raise FileRefused(f"{round(rate)}fps videos are not supported")


def _pixel_shape(video: JsonObject) -> Fraction:
    """Return the width of a pixel in units of its height. It is 1 if the file does not say, or says nonsense."""
    width, _, height = str(video.get("sample_aspect_ratio") or "").partition(":")
    if not (width.isdecimal() and height.isdecimal() and int(width) and int(height)):
        return Fraction(1)
    return Fraction(int(width), int(height))


def _filters(job: Job, video: JsonObject) -> str:
    """Return the filters that make the pictures of a film as every client shows them."""
    transfer = video.get("color_transfer")
    if transfer not in HIGH_RANGES:
        return SQUARE_PIXELS
    built = run_program(job.ffmpeg, "-v", "error", "-filters")
    if not all(name in built for name in NEEDED_FILTERS):
        return SQUARE_PIXELS
    return f"{USUAL_RANGE.format(transfer=transfer)},{SQUARE_PIXELS}"


def _times(job: Job, video: JsonObject) -> tuple[str, ...]:
    if job.kind != "gif":
        return ()
    return (*GIF_TIMES, "-bsf:v", GIF_DURATIONS.format(total=int(video.get("duration_ts") or 0)))


def _is_film(stream: JsonObject) -> bool:
    """True if it moves. The cover of an album is a video stream, too."""
    return stream.get("codec_type") == "video" and not stream.get("disposition", {}).get("attached_pic")


def _is_sound(stream: JsonObject) -> bool:
    """True for sound that FFmpeg can decode. Phones add a second track in formats of their own."""
    return stream.get("codec_type") == "audio" and stream.get("codec_name") not in (None, "none", "unknown")


def _rate(video: JsonObject) -> Fraction:
    try:
        return Fraction(video.get("avg_frame_rate") or "0")
    except (ValueError, ZeroDivisionError):
        return Fraction(0)


def _video_facts(report: JsonObject, size: JsonObject) -> JsonObject:
    video = next(stream for stream in report["streams"] if stream["codec_type"] == "video")
    seconds, rate = _seconds(report), int(report["format"].get("bit_rate") or 0)
    frames = video.get("avg_frame_rate") or "0/1"
    original = {"width": size["width"], "height": size["height"], "frame_rate": frames, "duration": seconds}
    length = {"length": _clock(seconds), "duration": seconds, "fps": max(round(_rate(video)), 1)}
    return length | size | {"original": original | {"bitrate": rate}} | _sound_facts(report)


def _sound_facts(report: JsonObject) -> JsonObject:
    audio = next((stream for stream in report["streams"] if stream["codec_type"] == "audio"), None)
    if audio is None:
        return {}
    return {
        "audio_encode": audio.get("codec_name", ""),
        "audio_bitrate": f"{int(audio.get('sample_rate') or 0)} Hz",
        "audio_channels": audio.get("channel_layout", ""),
    }


def _seconds(report: JsonObject) -> float:
    return round(float(report["format"].get("duration") or 0), 3)


def _clock(seconds: float) -> str:
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{int(hours)}:{int(minutes):02}:{rest:05.2f}"


def _probe(job: Job, source: str, demuxer: str) -> JsonObject:
    how = ("-v", "error", *LOCAL_FILES, "-f", demuxer, "-print_format", "json", "-show_format", "-show_streams")
    report = json.loads(run_program(job.ffprobe, *how, source))
    return {"streams": report.get("streams", []), "format": report.get("format", {})}


def _ffmpeg(job: Job, *outputs: tuple[tuple[str, ...], str]) -> None:
    """Make files of the source: for each the options, and its name."""
    made = (word for how, file in outputs for word in (*how, str(Path(job.folder) / file)))
    run_program(job.ffmpeg, *_INPUT, DEMUXERS[job.kind], "-i", job.source, *made)
