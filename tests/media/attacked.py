"""A server with uploads, and media processes beside it that its own command starts: `attacked.py FOLDER`, as some user.

Writes what came of the attacks of `exploited.py` and of honest jobs to `report.json`, with the server's records.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import trio

from troupe.actors.media import process
from troupe.actors.media.jobs import RESULT, Job, small_of

TROUPE = (sys.executable, "-c", "from troupe.supervision.commands import main; main()")
EXPLOITED = Path(__file__).with_name("exploited.py")
PYTHON = sys.executable

FLAWS = {"image": ("image", "png"), "still": ("film", "mp4"), "program": ("film", "mp4")}


def main(folder: Path) -> None:
    data, port = folder / "data", free_port()
    server = subprocess.Popen(
        [*TROUPE, "serve", "--data", str(data), "--port", str(port)], stdout=subprocess.PIPE, text=True, cwd=folder
    )
    records: list[dict[str, Any]] = []
    try:
        records = until_listening(server)
        upload(folder, data, port)
        report = against(folder, data, server.pid, port)
    finally:
        server.send_signal(signal.SIGTERM)
        rest = server.communicate(timeout=60)[0]
    records += [json.loads(line) for line in rest.splitlines()]
    (folder / "report.json").write_text(json.dumps(report | {"records": records}))


def until_listening(server: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    assert server.stdout is not None
    records: list[dict[str, Any]] = []
    while not records or records[-1]["event"] != "server.listening":
        records.append(json.loads(server.stdout.readline()))
    return records


def upload(folder: Path, data: Path, port: int) -> None:
    """Have the server process its first file."""
    ada = '{"username": "ada", "email": "ada@example.org", "password": "correct horse battery"}'
    importing = [*TROUPE, "accounts", "import", "-", "--scopes", "write", "--data", str(data)]
    made = subprocess.run(importing, input=ada, stdout=subprocess.PIPE, text=True, cwd=folder, check=True)
    reply = httpx.post(
        f"http://localhost:{port}/api/v2/media", files={"file": (folder / "uploads" / "a.png").read_bytes()},
        headers={"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}, trust_env=False, timeout=60,
    )  # fmt: skip
    assert reply.status_code == 200, reply.text


def against(folder: Path, data: Path, server: int, port: int) -> dict[str, Any]:
    incoming = data / "media" / "incoming"
    other = incoming / "other" / "source"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"somebody's photo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0troupe-test-{os.getpid()}")
        listener.listen()
        goal = {
            "data": str(data), "server": server, "port": port, "other": str(other),
            "abstract": f"troupe-test-{os.getpid()}",
        }  # fmt: skip
        attacks = {flaw: attacked(folder, incoming, flaw, goal) for flaw in FLAWS}
    honest = {file.name: honestly(file, incoming) for file in sorted((folder / "uploads").iterdir())}
    kept = other.read_bytes() == b"somebody's photo"
    return {"attacks": attacks, "honest": honest, "kept": kept, "alive": Path(f"/proc/{server}").exists()}


def attacked(folder: Path, incoming: Path, flaw: str, goal: dict[str, Any]) -> Any:
    """What an attacker could do who has found this flaw."""
    task, kind = FLAWS[flaw]
    job = staged(incoming, f"evil-{flaw}", folder / "uploads" / f"a.{kind}", task)
    (Path(job.folder) / "goal.json").write_text(json.dumps(goal | {"flaw": flaw}))
    # The command stays the product's; what runs it is a program that imports it and has the flaw.
    python = folder / "python"
    python.write_text(f"#!{PYTHON} -I\n{EXPLOITED.read_text()}")
    python.chmod(0o755)
    sys.executable = str(python)
    try:
        trio.run(process.run, job)
    finally:
        sys.executable = PYTHON
    report = Path(job.folder) / small_of(job)
    if not report.stat().st_size:
        return (Path(job.folder) / process.LAST_WORDS).read_text()
    return json.loads(report.read_text())


def honestly(file: Path, incoming: Path) -> Any:
    kind = file.suffix[1:]
    job = staged(incoming, f"honest-{file.stem}-{kind}", file, "film" if kind in ("mp4", "ogg") else "image")
    trio.run(process.run, job)
    return json.loads((Path(job.folder) / RESULT).read_text() or '{"made": null}')


def staged(incoming: Path, name: str, file: Path, task: Any) -> Job:
    place = incoming / name
    place.mkdir()
    shutil.copyfile(file, place / "source")
    kind = file.suffix[1:]
    programs = (shutil.which("ffmpeg") or "", shutil.which("ffprobe") or "")
    may_move = task == "film" or kind == "gif"
    return Job(task, kind, str(place / "source"), str(place), name, *(programs if may_move else ("", "")))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
