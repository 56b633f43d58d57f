"""The operator's texts, as files in the data folder of a stage."""

from pathlib import Path

from ..clients import Stage


def write_operator_text(stage: Stage, name: str, text: str | bytes) -> Path:
    """Write one file, and return its path."""
    path = stage.http_context.settings.data / "texts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
