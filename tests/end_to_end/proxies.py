"""nginx and Caddy in front of a server, with the files that operators get."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ..certificates import certificate
from .server import free_port

DOMAIN = "social.example.org"
PATIENCE = 30.0  # seconds until the proxy listens
# What Debian's own nginx.conf has around the site, with all files in one folder.
AROUND_NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/proxied;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""
# Without HTTP/3, which wants the UDP port of the same number: other tests hold it.
AROUND_CADDY = """
{{
    admin off
    auto_https off
    servers {{
        protocols h1 h2
    }}
    storage file_system {folder}
}}
"""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy: its port for TLS, and the certificate by which clients trust it."""

    port: int
    trusted: Path


def operations(name: str) -> str:
    """Return one of the files for operators."""
    return files("troupe.supervision").joinpath("operations", name).read_text("utf-8")


def _for_nodes(site: str, nodes: Sequence[int]) -> str:
    """Return the text of a file with its lines for several nodes, which listen on these ports."""
    if not nodes:
        return site
    site = re.sub(r"^(\t*)#(?! )", r"\1", site, flags=re.MULTILINE)
    for number, port in enumerate(nodes, 1):
        assert f"192.0.2.1{number}:3000" in site
        site = site.replace(f"192.0.2.1{number}:3000", f"127.0.0.1:{port}")
    return site.replace("proxy_pass http://troupe;", "proxy_pass http://$owner;")


@contextmanager
def nginx(folder: Path, behind: int, nodes: Sequence[int] = ()) -> Generator[Proxy]:
    """Run nginx with nginx.conf, in which only ports and the certificate's files are others."""
    trusted, port, plain = certificate(folder, hosts=[DOMAIN]).file, free_port(), free_port()
    site = re.sub(r"^ *listen \[::\].*\n", "", _for_nodes(operations("nginx.conf"), nodes), flags=re.MULTILINE)
    site = re.sub(r"/etc/letsencrypt/\S+(?=;)", str(folder / "both.pem"), site)
    for ours, theirs in (("listen 80;", plain), ("listen 443 ", port), ("server 127.0.0.1:3000;", behind)):
        assert ours in site
        site = site.replace(ours, re.sub("80|443|3000", f"127.0.0.1:{theirs}", ours.replace("127.0.0.1:", "")))
    (folder / "site.conf").write_text(site)
    (folder / "nginx.conf").write_text(AROUND_NGINX.format(folder=folder))
    words = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with _running([*words, "-g", "user root;"] if _is_root() else words, port):
        yield Proxy(port, trusted)


@contextmanager
def caddy(folder: Path, behind: int, nodes: Sequence[int] = ()) -> Generator[Proxy]:
    """Run Caddy with the Caddyfile, in which only ports and the certificate are others."""
    trusted, port = certificate(folder, hosts=[DOMAIN]).file, free_port()
    site = _for_nodes(operations("Caddyfile"), nodes)
    for ours, theirs in ((f"{DOMAIN} {{", f"https://{DOMAIN}:{port} {{\n\ttls {trusted} {folder}/both.pem"),
                         ("127.0.0.1:3000", f"127.0.0.1:{behind}")):  # fmt: skip
        assert ours in site
        site = site.replace(ours, theirs)
    (folder / "Caddyfile").write_text(AROUND_CADDY.format(folder=folder) + site)
    with _running(["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"], port):
        yield Proxy(port, trusted)


def _is_root() -> bool:
    return Path("/proc/self").stat().st_uid == 0


@contextmanager
def _running(words: list[str], port: int) -> Generator[None]:
    """Run a proxy until the end of the block."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        give_up_at = time.monotonic() + PATIENCE
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if process.poll() is not None or time.monotonic() > give_up_at:
                process.kill()
                raise AssertionError(process.communicate()[1][-2000:])
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
