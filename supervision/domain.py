"""What a server was last called, kept in its data folder.

Commands beside a server make accounts with links to it. On a loopback address these links hold the port, which only the
server was told; so it leaves a note, and a command that was told nothing else goes by it.
"""

from __future__ import annotations

from .configuration import Settings

NOTE = "base_url"


def remember(settings: Settings) -> None:
    """Leave the note: by the server that holds the data folder, once it does."""
    settings.data.mkdir(parents=True, exist_ok=True)
    (settings.data / NOTE).write_text(settings.base_url + "\n", "utf-8")


def base_url(settings: Settings) -> str:
    """The start of the server's links: as chosen, else as it last called itself, else as it would by default."""
    note = settings.data / NOTE
    if settings.model_fields_set & {"host", "port", "domain"} or not note.exists():
        return settings.base_url
    return note.read_text("utf-8").strip()
