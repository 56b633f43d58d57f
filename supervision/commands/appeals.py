"""`troupe appeals`: appeals of users against what staff decided."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .options import CommandRefused, setting_options, settings_from


@click.group
def appeals() -> None:
    """Appeals of users against what staff decided."""


@appeals.command("list")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the appeals that wait for a decision, the newest first."""
    from .appealing import open_appeals
    from .rows import transact

    found = transact(settings_from(config, data=data), open_appeals)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    for one in () if as_json else found:
        click.echo(f"{one['id']}  @{one['account']}  {one['action']}  {one['created_at']}\n    {one['text']}")


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
    from .making import InvalidAccount
    from .rows import transact

    try:
        return transact(settings_from(config, data=data), decide_appeal, id, approved)
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}.") from None
