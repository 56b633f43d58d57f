"""`troupe settings`: settings that change while the server runs."""

from __future__ import annotations

from pathlib import Path

import click

from ...storage.engine.json_values import JsonObject
from .acting import act
from .options import dry_run_option, json_option, print_list, setting_options, settings_from


@click.group
def settings() -> None:
    """Settings that change while the server runs. They come before those of files and the environment."""


@settings.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List these settings, one a line: name, value, and which source says so."""
    from .changing_settings import listed

    found = act(config, listed, settings_from(config, data=data), data=data)
    print_list(found, lambda one: f"{one['name']}\t{_one_line(one['value'])}\t{_source(one)}", as_json=as_json)


@settings.command("set")
@click.argument("name")
@click.argument("value")
@dry_run_option
@setting_options("data")
def set_(name: str, value: str, dry_run: bool, data: str | None, config: Path | None) -> None:
    """Change the setting NAME to VALUE. It holds at once, and stays until the next change, also after a restart."""
    _change(config, data, name, value, dry_run=dry_run)


@settings.command
@click.argument("name")
@dry_run_option
@setting_options("data")
def reset(name: str, dry_run: bool, data: str | None, config: Path | None) -> None:
    """Forget the change of the setting NAME: the configuration says again what it is."""
    _change(config, data, name, None, dry_run=dry_run)


@settings.command
@click.argument("name", required=False)
@json_option
@setting_options("data")
def history(name: str | None, as_json: bool, data: str | None, config: Path | None) -> None:
    """List who changed which setting from what to what, the latest first; with NAME of that setting alone."""
    from .changing_settings import changes

    print_list(act(config, changes, name, data=data), _changed, as_json=as_json)


def _change(config: Path | None, data: str | None, name: str, value: str | None, *, dry_run: bool) -> None:
    from .changing_settings import change

    done = act(config, change, settings_from(config, data=data), name, value, dry_run=dry_run, data=data)
    click.echo(f"{'Would change' if dry_run else 'Changed'} {done.name} from {done.before!r} to {done.after!r}")
    for sentence in done.affects if dry_run else done.obstacles:
        click.echo(f"  {sentence}")


def _source(one: JsonObject) -> str:
    source = "chosen by staff" if one["changed"] else "the configuration says so"
    return "; ".join([source, *one["obstacles"]])


def _changed(one: JsonObject) -> str:
    return f"{one['at']}\t{one['by']}\t{one['name']}\t{_one_line(one['before'])} -> {_one_line(one['after'])}"


def _one_line(text: object) -> str:
    return " ".join(str("" if text is None else text).split())
