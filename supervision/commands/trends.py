"""`troupe tags`, `troupe links` and `troupe posts`: which of them may trend."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Concatenate, ParamSpec

import click

from ...storage.engine.database import Connection
from .options import CommandRefused, json_option, print_list, setting_options, settings_from

P = ParamSpec("P")


@click.group
def tags() -> None:
    """Hashtags, and whether they may trend."""


@tags.command("allow")
@click.argument("name")
@setting_options("data")
def allow_tag(name: str, data: str | None, config: Path | None) -> None:
    """Let the hashtag NAME trend."""
    from .reviewing import review_tag

    click.echo(f"Allowed {_review(review_tag, name, data, config, trendable=True)}")


@tags.command("forbid")
@click.argument("name")
@setting_options("data")
def forbid_tag(name: str, data: str | None, config: Path | None) -> None:
    """Keep the hashtag NAME out of the trends."""
    from .reviewing import review_tag

    click.echo(f"Forbade {_review(review_tag, name, data, config, trendable=False)}")


@tags.command("waiting")
@json_option
@setting_options("data")
def waiting_tags(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the hashtags that would trend and are not reviewed, one a line, the first one most."""
    from .reviewing import find_waiting_tags

    _list(find_waiting_tags, "name", data, config, as_json=as_json)


@click.group
def links() -> None:
    """Links to other sites, and whether they may trend.

    A PLACE is a domain, with all below it, or the URL of one page. A decision on a page stands above that on its
    domain, and a decision on a domain above that on the domain over it.
    """


@links.command("allow")
@click.argument("place")
@setting_options("data")
def allow_links(place: str, data: str | None, config: Path | None) -> None:
    """Let the links to PLACE trend, a domain or a URL."""
    from .reviewing import review_links

    click.echo(f"Allowed {_review(review_links, place, data, config, trendable=True)}")


@links.command("forbid")
@click.argument("place")
@setting_options("data")
def forbid_links(place: str, data: str | None, config: Path | None) -> None:
    """Keep the links to PLACE out of the trends."""
    from .reviewing import review_links

    click.echo(f"Forbade {_review(review_links, place, data, config, trendable=False)}")


@links.command("waiting")
@json_option
@setting_options("data")
def waiting_links(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the links that would trend and are not reviewed, one URL a line, the first one most."""
    from .reviewing import find_waiting_links

    _list(find_waiting_links, "url", data, config, as_json=as_json)


@click.group
def posts() -> None:
    """Posts, and whether they may trend.

    A SOURCE is the name of a local account, for all its posts, or the URL of one post, which stands above a decision on
    its author.
    """


@posts.command("allow")
@click.argument("source")
@setting_options("data")
def allow_posts(source: str, data: str | None, config: Path | None) -> None:
    """Let the posts of SOURCE trend, a local account or the URL of a post."""
    from .reviewing import review_posts

    click.echo(f"Allowed {_review(review_posts, source, data, config, trendable=True)}")


@posts.command("forbid")
@click.argument("source")
@setting_options("data")
def forbid_posts(source: str, data: str | None, config: Path | None) -> None:
    """Keep the posts of SOURCE out of the trends."""
    from .reviewing import review_posts

    click.echo(f"Forbade {_review(review_posts, source, data, config, trendable=False)}")


@posts.command("waiting")
@json_option
@setting_options("data")
def waiting_posts(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the posts that would trend and are not reviewed, one URL a line, the first one most."""
    from .reviewing import find_waiting_posts

    _list(find_waiting_posts, "url", data, config, as_json=as_json)


def _review(
    work: Callable[Concatenate[Connection, str, bool, P], Awaitable[str]],
    named: str,
    data: str | None,
    config: Path | None,
    *,
    trendable: bool,
) -> str:
    from .reviewing import NotReviewed
    from .rows import transact

    try:
        return transact(settings_from(config, data=data), work, named, trendable)
    except NotReviewed as refused:
        raise CommandRefused(f"{refused}.") from None


def _list(
    work: Callable[Concatenate[Connection, P], Awaitable[list[str]]],
    key: str,
    data: str | None,
    config: Path | None,
    *,
    as_json: bool,
) -> None:
    """List texts; in JSON each is an object with this key."""
    from .rows import transact

    found = [{key: text} for text in transact(settings_from(config, data=data), work)]
    print_list(found, lambda one: str(one[key]), as_json=as_json)
