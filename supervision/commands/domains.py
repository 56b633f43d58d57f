"""`troupe domains`: the other servers that this one limits."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Literal

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .acting import act, local_domain_of
from .options import (
    ask_first,
    dry_run_option,
    json_option,
    print_json,
    print_list,
    setting_options,
    settings_from,
    yes_option,
)


@click.group
def domains() -> None:
    """Domains of other servers, with their subdomains."""


@domains.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the blocked domains, one a line: domain, severity, private comment."""
    from .blocking_domains import listed

    found = act(config, listed, data=data)
    print_list(found, _line, as_json=as_json)


@domains.command
@click.argument("domain")
@click.option(
    "--severity",
    type=click.Choice(["noop", "silence", "suspend"]),
    help="What happens to its accounts: nothing, no reach beyond their followers, no contact.  [default: silence]",
)
@click.option("--reject-media/--accept-media", default=None, help="Whether files from there are refused.")
@click.option("--reject-reports/--accept-reports", default=None, help="Whether reports from there are refused.")
@click.option("--private-comment", metavar="TEXT", help="Why, for staff.")
@click.option("--public-comment", metavar="TEXT", help="Why, for those who may read the blocks.")
@click.option("--obfuscate/--no-obfuscate", default=None, help="Whether the name is shown with stars in it.")
@setting_options("data")
def block(
    domain: str,
    severity: Literal["noop", "silence", "suspend"] | None,
    reject_media: bool | None,
    reject_reports: bool | None,
    private_comment: str | None,
    public_comment: str | None,
    obfuscate: bool | None,
    data: str | None,
    config: Path | None,
) -> None:
    """Block DOMAIN and its subdomains, or change the block. What is not said stays as it is."""
    from ...actors.commands.blocked_domains import DomainTerms
    from .blocking_domains import block as block_domain

    terms = DomainTerms(severity, reject_media, reject_reports, private_comment, public_comment, obfuscate)
    here = local_domain_of(settings_from(config, data=data))
    click.echo(f"Blocked {act(config, block_domain, domain, terms, here, data=data)}")


@domains.command
@click.argument("domain")
@setting_options("data")
def unblock(domain: str, data: str | None, config: Path | None) -> None:
    """End the block of DOMAIN. Accounts that it has silenced or suspended are so no more."""
    from .blocking_domains import unblock as unblock_domain

    click.echo(f"Unblocked {act(config, unblock_domain, domain, data=data)}")


@domains.command
@click.argument("domain")
@setting_options("data")
def allow(domain: str, data: str | None, config: Path | None) -> None:
    """Allow DOMAIN and its subdomains, for a server with `limited_federation`. Their accounts come back."""
    from .blocking_domains import allow as allow_domain

    settings = settings_from(config, data=data)
    here = local_domain_of(settings)
    click.echo(f"Allowed {act(config, allow_domain, domain, settings.limited_federation, here, data=data)}")


@domains.command
@click.argument("domain")
@setting_options("data")
def disallow(domain: str, data: str | None, config: Path | None) -> None:
    """Allow DOMAIN no more. With `limited_federation` its accounts are suspended until it is allowed again."""
    from .blocking_domains import disallow as disallow_domain

    limited = settings_from(config, data=data).limited_federation
    click.echo(f"Disallowed {act(config, disallow_domain, domain, limited, data=data)}")


@domains.command
@json_option
@setting_options("data")
def allowed(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the allowed domains, one a line."""
    from .blocking_domains import listed_allowed

    print_list(act(config, listed_allowed, data=data), lambda one: str(one["domain"]), as_json=as_json)


@domains.command
@setting_options("data")
def export(data: str | None, config: Path | None) -> None:
    """Print the blocks as CSV, as Mastodon's pages of staff import them."""
    from .blocking_domains import exported

    click.echo(act(config, exported, data=data), nl=False)


@domains.command("import")
@click.argument("file", type=click.File("rb"))
@dry_run_option
@setting_options("data")
def import_(file: BinaryIO, dry_run: bool, data: str | None, config: Path | None) -> None:
    """Block the domains of FILE; `-` reads standard input.

    FILE is a CSV file as `export` prints it or as others publish it, a list of domains, one a line, or a JSON file of
    GoToSocial or Akkoma. Lines that begin with `#` are comments. Domains that are blocked already stay as they are. All
    lines are imported, or none.
    """
    from .blocking_domains import imported, read_file

    settings = settings_from(config, data=data)
    lines = read_file(file)
    done, notes = act(config, imported, lines, local_domain_of(settings), dry_run=dry_run, data=data)
    for domain in done:
        click.echo(f"{'Would block' if dry_run else 'Blocked'} {domain}")
    for note in notes:
        click.echo(note, err=True)


@domains.command
@click.argument("foreign", metavar="DOMAIN")
@dry_run_option
@yes_option
@json_option
@setting_options("data", "domain")
def purge(
    foreign: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """Delete all that this server keeps of DOMAIN and its subdomains: accounts with their posts, files, follows, emoji.

    The accounts are hidden at once. The running server erases what they have left; if none runs, the next one does as
    soon as it starts. Without a block of DOMAIN, its accounts may come again.
    """
    from .progress import progress
    from .purging import check_foreign, counted, survey
    from .purging import purge as purge_domain
    from .rows import transact, transactions

    settings = settings_from(config, data=data, domain=domain)
    name = check_foreign(foreign, local_domain_of(settings))
    if not dry_run:
        ask_first(lambda: f"Delete {_purged(counted(transact(settings, survey, name)))} of {name} for ever?", yes=yes)
    with transactions(settings) as run:
        found = run(survey, name)
        counts = counted(found)
        if not dry_run:
            going_on = "These are deleted. Run the same command again for the others."
            label, total = f"Deleting accounts of {name}", counts["accounts"]
            with progress(label, total, going_on, things="accounts") as update:
                purge_domain(run, name, found, update)
    if as_json:
        print_json({"domain": name, "dry_run": dry_run, **counts})
        return
    for one in counts["domains"]:
        click.echo(f"{'Would delete' if dry_run else 'Deleted'} {_purged(one)} of {one['domain']}")


def _purged(counts: JsonObject) -> str:
    accounts, posts = number_of(counts["accounts"], "accounts"), number_of(counts["statuses"], "posts")
    return f"{accounts} with {posts}, and {counts['emojis']} emoji,"


def _line(one: JsonObject) -> str:
    return f"{one['domain']}\t{one['severity']}\t{one['private_comment'] or ''}"
