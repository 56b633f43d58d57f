"""The addresses under which this server shows pictures of other servers."""

from __future__ import annotations

from ...actors.federation.remote_files import digest_of
from ...storage.remote_files import Kind


def remote_file_address(kind: Kind, id: int, url: str, base_url: str, *, small: bool = False) -> str:
    """Return the address of a picture here. It changes with the picture."""
    return f"{base_url}/media_proxy/{kind}/{id}/{digest_of(url)}{'/small' if small else ''}"
