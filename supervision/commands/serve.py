"""`troupe serve`: the server."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from ..configuration import Settings
from ..sources import unknown_variables
from .options import setting_options, settings_from


@click.command
@setting_options("host", "port", "data", "domain", "takeover")
def serve(config: Path | None, **chosen: str | None) -> None:
    """Run the server until SIGTERM, SIGINT or SIGHUP. A second signal ends it without grace for running requests.

    It starts its own PostgreSQL under --data, unless TROUPE_DATABASE_URL names another, brings the schema up to date
    and listens. All settings can also be given as TROUPE_* variables or in a TOML file; the command line wins over the
    environment, the environment over the file.
    """
    settings = settings_from(config, **chosen)
    for line in unknown_variables(os.environ):
        click.echo(f"Ignored: {line}", err=True)
    from .. import tree

    raise SystemExit(tree.serve(settings))


def greeting(settings: Settings) -> str:
    """What an operator reads when the server is up."""
    where = " and ".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in settings.listens)
    folder = "" if settings.data == Path("data").absolute() else f" --data {settings.data}"
    return (
        f"Troupe is at {settings.base_url} (listening on {where}; data in {settings.data}).\n"
        f"The first account, from another terminal:\n"
        f"  {_called()} accounts create NAME --email E --password P --role owner --confirmed --approved{folder}\n"
    )


def _called() -> str:
    """How this program can be called again: by its name where that finds it, else by its path."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    return called.name if found and called.exists() and called.samefile(found) else str(called)
