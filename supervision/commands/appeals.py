"""`troupe appeals`: appeals of users against what staff decided."""

from __future__ import annotations

from pathlib import Path

import click

from ...storage.engine.json_values import JsonObject
from .options import CommandRefused, json_option, print_list, setting_options, settings_from


@click.group
def appeals() -> None:
    """Appeals of users against what staff decided."""


@appeals.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the appeals that wait for a decision, the newest first."""
    from .appealing import open_appeals
    from .rows import transact

    print_list(transact(settings_from(config, data=data), open_appeals), _line, as_json=as_json)


@appeals.command
@click.argument("id", type=int)
@setting_options("data")
def approve(id: int, data: str | None, config: Path | None) -> None:
    """Approve the appeal ID: the decision counts no more, and its effects end."""
    click.echo(f"Approved the appeal of @{_decide(id, data, config, approved=True)}")


@appeals.command
@click.argument("id", type=int)
@setting_options("data")
def reject(id: int, data: str | None, config: Path | None) -> None:
    """Reject the appeal ID."""
    click.echo(f"Rejected the appeal of @{_decide(id, data, config, approved=False)}")


def _decide(id: int, data: str | None, config: Path | None, *, approved: bool) -> str:
    from .appealing import decide_appeal
    from .finding import InvalidAccount
    from .rows import transact

    try:
        return transact(settings_from(config, data=data), decide_appeal, id, approved)
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}.") from None


def _line(one: JsonObject) -> str:
    return f"{one['id']}  @{one['account']}  {one['action']}  {one['created_at']}\n    {one['text']}"
