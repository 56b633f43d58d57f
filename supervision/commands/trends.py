"""`troupe tags`, `troupe links` and `troupe posts`: which may trend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...actors.outgoing.messages import ForbiddenTarget
from ...actors.outgoing.targets import named_target
from ...storage import accounts
from .chosen_server import ChosenServer
from .options import json_option, print_list, setting_options
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...actors.commands.trend_reviews import Kind
    from ...storage.engine.database import Connection
    from .rows import Here

NOTICE = "trends"


@click.group
def tags() -> None:
    """Hashtags, and whether they may trend."""


@tags.command("allow")
@click.argument("name")
@setting_options("data")
def allow_tag(server: ChosenServer, name: str) -> None:
    """Let the hashtag NAME trend."""
    click.echo(f"Allowed {server.transact(_review_tag, name, True)}")


@tags.command("forbid")
@click.argument("name")
@setting_options("data")
def forbid_tag(server: ChosenServer, name: str) -> None:
    """Keep the hashtag NAME out of the trends."""
    click.echo(f"Forbade {server.transact(_review_tag, name, False)}")


async def _review_tag(db: Connection, here: Here, named: str, trendable: bool) -> str:
    """Store whether a hashtag may trend, and return its name."""
    from ...actors.rules.text import tag_name
    from ...storage.engine import notices

    name = tag_name(named)
    if not await _decide(db, here, "tag", name, trendable):
        raise CommandRefused(f"no post has the hashtag #{name}.")
    await notices.send(db, NOTICE)
    return f"#{name}"


@tags.command("waiting")
@json_option
@setting_options("data")
def waiting_tags(server: ChosenServer, as_json: bool) -> None:
    """List the hashtags that would trend and are not reviewed, one a line, the most used first."""
    found = [{"name": name} for name in server.transact(_waiting_tags)]
    print_list(found, lambda tag: tag["name"], as_json=as_json)


async def _waiting_tags(db: Connection, here: Here) -> list[str]:
    """Return the hashtags that would trend and are not reviewed, the most used first."""
    from ...actors.shown.trends import find_tags

    return [f"#{trend.tag.name}" for trend in await find_tags(db, here.now) if trend.trendable is None]


@click.group
def links() -> None:
    """Links to other sites, and whether they may trend.

    A PLACE is a domain, with all below it, or the URL of a page. A decision on a page overrides that on its
    domain, and a decision on a domain above that on the domain over it.
    """


@links.command("allow")
@click.argument("place")
@setting_options("data")
def allow_links(server: ChosenServer, place: str) -> None:
    """Let the links to PLACE trend, a domain or a URL."""
    click.echo(f"Allowed {server.transact(_review_links, place, True)}")


@links.command("forbid")
@click.argument("place")
@setting_options("data")
def forbid_links(server: ChosenServer, place: str) -> None:
    """Keep the links to PLACE out of the trends."""
    click.echo(f"Forbade {server.transact(_review_links, place, False)}")


async def _review_links(db: Connection, here: Here, named: str, trendable: bool) -> str:
    """Store whether a link may trend, if a URL is named, else all links to a domain. Return its URL or the domain."""
    from ...storage import preview_cards
    from ...storage.engine import notices

    try:
        target = named_target(named if "://" in named else f"https://{named}/")
    except ForbiddenTarget as error:
        raise CommandRefused(f"{named} is neither a domain nor the URL of a page: {error}.") from None
    if "://" in named:
        card = await preview_cards.find(db, target.url)
        if card is None or not await _decide(db, here, "link", card.id, trendable):
            raise CommandRefused(f"no post has the link {target.url}.")
        shown = target.url
    else:
        await _decide(db, here, "publisher", target.host, trendable)
        shown = target.host
    await notices.send(db, NOTICE)
    return shown


@links.command("waiting")
@json_option
@setting_options("data")
def waiting_links(server: ChosenServer, as_json: bool) -> None:
    """List the links that would trend and are not reviewed, one URL a line, the most used first."""
    found = [{"url": url} for url in server.transact(_waiting_links)]
    print_list(found, lambda link: link["url"], as_json=as_json)


async def _waiting_links(db: Connection, here: Here) -> list[str]:
    """Return the URLs of links that would trend and are not reviewed, the most used first."""
    from ...actors.shown.trends import find_links

    return [trend.link.card.url for trend in await find_links(db, here.now) if trend.trendable is None]


@click.group
def posts() -> None:
    """Posts, and whether they may trend.

    A SOURCE is the name of a local account, for all its posts, or the URL of a post, which overrides a decision on
    its author.
    """


@posts.command("allow")
@click.argument("source")
@setting_options("data")
def allow_posts(server: ChosenServer, source: str) -> None:
    """Let the posts of SOURCE trend, a local account or the URL of a post."""
    click.echo(f"Allowed {server.transact(_review_posts, source, True)}")


@posts.command("forbid")
@click.argument("source")
@setting_options("data")
def forbid_posts(server: ChosenServer, source: str) -> None:
    """Keep the posts of SOURCE out of the trends."""
    click.echo(f"Forbade {server.transact(_review_posts, source, False)}")


async def _review_posts(db: Connection, here: Here, named: str, trendable: bool) -> str:
    """Store whether a post may trend, if a URL is named, else all posts of an account. Return the name."""
    from ...storage.engine import notices

    if "://" in named:
        await _review_post(db, here, named, trendable)
        shown = named
    else:
        found = await accounts.find_local_many(db, [named.removeprefix("@")])
        if not found:
            raise CommandRefused(f"there is no local account {named}.")
        (account,) = found.values()
        await _decide(db, here, "author", account.id, trendable)
        shown = f"@{account.username}"
    await notices.send(db, NOTICE)
    return shown


async def _review_post(db: Connection, here: Here, url: str, trendable: bool) -> None:
    from ...storage import statuses

    last = url.rpartition("/")[2]
    status = await statuses.find(db, int(last)) if last.isascii() and last.isdigit() and len(last) < 19 else None
    if status is None or status.url != url:
        raise CommandRefused(f"there is no post {url}.")
    await _decide(db, here, "status", status.id, trendable)


@posts.command("waiting")
@json_option
@setting_options("data")
def waiting_posts(server: ChosenServer, as_json: bool) -> None:
    """List the posts that would trend and are not reviewed, one URL a line, the most used first."""
    found = [{"url": url} for url in server.transact(_waiting_posts)]
    print_list(found, lambda status: status["url"], as_json=as_json)


async def _waiting_posts(db: Connection, here: Here) -> list[str]:
    """Return the URLs of posts that would trend and are not reviewed, the most used first."""
    from ...actors.shown.trends import find_statuses
    from ...storage import statuses

    waiting = [trend.status.id for trend in await find_statuses(db, here.now) if trend.trendable is None]
    found = await statuses.find_many(db, waiting)
    return [found[id].url or found[id].uri for id in waiting if id in found]


async def _decide(db: Connection, here: Here, kind: Kind, key: int | str, trendable: bool) -> bool:
    """Store a decision. Return False if there is nothing that it is about."""
    from ...actors.commands.trend_reviews import ReviewTrend, review

    return await review(here.act, ReviewTrend(here.staff, kind, key, trendable)) is None
