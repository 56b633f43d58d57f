"""`troupe serve`: the server."""

from __future__ import annotations

import os

import click

from ..settings.sources import PARENT, unknown_variables
from .chosen_server import ChosenServer
from .options import setting_options


@click.command
@setting_options("host", "port", "socket", "data", "node", "processes", "domain", "takeover", "fast_path")
def serve(server: ChosenServer) -> None:
    """Run the server until SIGTERM or Ctrl-C, or until its terminal is closed. A second signal ends the grace.

    It starts its own PostgreSQL under --data, unless TROUPE_DATABASE_URL names another, brings the schema up to date
    and listens. All settings can also be given as TROUPE_* variables or in a TOML file; the command line wins over the
    environment, the environment over the file.
    """
    settings = server.settings
    if PARENT not in os.environ:
        for line in unknown_variables(os.environ):
            click.echo(f"Ignored: {line}", err=True)
    if settings.processes != 1:
        from ..processes import parent

        if (count := parent.number_of_processes(settings.processes)) > 1:
            raise SystemExit(parent.serve(settings, count, server.options("node", "processes", "takeover")))
    from .. import process

    raise SystemExit(process.serve(settings))
