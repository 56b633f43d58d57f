"""Finds accounts and statuses of other servers, in the database or on their own servers.

An account is stored when its actor's document was fetched from its id, and WebFinger leads from its handle to the id.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import trio
from cachetools import TTLCache

from ...storage import accounts, statuses
from ...storage.accounts import Account
from ...storage.engine.json_values import JsonObject
from ...storage.federation import remote_accounts, remote_statuses
from ..activitypub.names import LocalNames
from ..activitypub.notes import ReceivedNote, ReceivedQuote, author_of, is_post
from ..activitypub.uris import ascii_uri, same_uri
from ..activitypub.vocabulary import host_of, same_host, types_of, uri_of
from ..broadcast.broadcast import account_address
from ..commands.account_deletions import DeleteAccount
from ..commands.late_parts import JoinParts, JoinReplies
from ..commands.received_statuses import ReceiveEdit
from ..context import ActorContext
from ..facts.accounts import ChangedAccount
from ..kernel import Record, Runtime
from ..own_addresses import OwnAddressReader
from ..rules.domains import is_within
from . import actor_documents
from .background_jobs import BackgroundJobs, Job
from .details import AccountDetails
from .discoveries import Discoveries
from .errors import (
    DocumentGone,
    DocumentMissing,
    DocumentUnknown,
    FetchFailed,
    HostNotAllowed,
    LeadsHere,
    UntrustedDocument,
)
from .fetching import DocumentFetcher
from .flights import Flights
from .latest_posts import LatestPosts
from .notes import note_of, store_read_note
from .quotes import is_allowed
from .remote_profiles import is_over, store_profile
from .threads import Threads
from .webfinger import Handle, HandleProof, WebFinger, handle_from

Found = TypeVar("Found")

STALE_AFTER = timedelta(days=1)  # of an account that is being viewed
STALE_AFTER_ACTIVITY = timedelta(days=7)  # of an account that is not being viewed
THREADS = 10_000  # that are remembered as completed
THREAD_LASTS = 900.0  # seconds
MENTIONS = 20  # unknown accounts in a post that are fetched
PARTS_SECONDS = 90.0  # for all accounts and posts that a post names
UNFOUND = 10_000  # that are remembered as not found
UNFOUND_LASTS = 3600.0  # seconds
FOLLOWED = 10_000  # accounts whose latest posts are remembered as fetched
FOLLOWED_LASTS = 3600.0  # seconds
POLLS = 10_000  # that are remembered as counted
COUNT_LASTS = 60.0  # seconds


class Resolver:
    """Finds, stores and refreshes accounts and statuses. Each process has an instance.

    The methods return None for an object that does not exist or can't be proven. They raise DocumentUnavailable if the
    other server gives no answer now.
    """

    def __init__(self, context: ActorContext, runtime: Runtime, fetcher: DocumentFetcher, record: Record) -> None:
        self._context = context
        self._runtime = runtime
        self._fetcher = fetcher
        self._webfinger = WebFinger(fetcher)
        self._names = LocalNames(context.base_url)
        self._own = OwnAddressReader(context.database, self._names)
        self._discoveries = Discoveries(context.quotas)
        self._flights: Flights[Account] = Flights()
        self._status_flights: Flights[int] = Flights()
        self._jobs = BackgroundJobs(record)
        self._details = AccountDetails(context, runtime, fetcher, self._find_target, self.status)
        self._threads = Threads(fetcher, self._is_known, self.status_of, self._join_replies)
        self._completed: TTLCache[str, None] = TTLCache(THREADS, THREAD_LASTS, timer=trio.current_time)
        self._unfound: TTLCache[str, None] = TTLCache(UNFOUND, UNFOUND_LASTS, timer=trio.current_time)
        self._latest = LatestPosts(context, runtime, fetcher, self.find_parts)
        self._outboxes_read: TTLCache[str, None] = TTLCache(FOLLOWED, FOLLOWED_LASTS, timer=trio.current_time)
        self._recounted: TTLCache[str, None] = TTLCache(POLLS, COUNT_LASTS, timer=trio.current_time)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the fetches of callers and the background jobs, until `stopping`."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._flights.run, stopping)
            await nursery.start(self._status_flights.run, stopping)
            await nursery.start(self._jobs.run, stopping)
            task_status.started()

    def inspect(self) -> dict[str, object]:
        """Return the state for operators."""
        return {"fetching": len(self._flights) + len(self._status_flights), "to fetch": len(self._jobs)}

    async def account(self, uri: str) -> Account | None:
        """Return the account with a URI: of this server, stored, or fetched; None if it was deleted."""
        if self._names.is_local(uri):
            username = self._names.username_of(uri)
            return None if username is None else await self._stored(username, None)
        known = await self._context.database.read(remote_accounts.find, uri)
        if known is not None and not is_over(known, self._context.clock.now()):
            self._refresh_if_older(known, STALE_AFTER_ACTIVITY)
            return None if known.deleted_at is not None else known
        return await self._discover(uri, partial(self._fetch, uri))

    async def account_by_handle(self, username: str, domain: str) -> Account | None:
        """Return the account with a handle: of this server, stored, or found by WebFinger."""
        try:
            return await self.require_account(username, domain)
        except (DocumentMissing, UntrustedDocument):
            return None

    async def require_account(self, username: str, domain: str) -> Account:
        """Return the account with a handle. Raise FetchFailed with the reason if there is none."""
        handle = handle_from(username, domain)
        if self._context.local_domain in (domain.lower(), handle and handle.domain):
            return _required(await self._stored(username, None))
        if handle is None:
            raise DocumentUnknown("there can be no such handle")
        if self._context.blocks.domains.standing_of(handle.domain).suspended:
            raise HostNotAllowed("the domain is suspended")
        known = await self._stored(handle.username, handle.domain)
        if known is not None and known.protocol == "activitypub":
            return known
        key = f"acct:{handle.username.lower()}@{handle.domain}"
        return _required(await self._flights.join(key, partial(self._find, handle)))

    async def resource_at(self, url: str) -> Account | int | None:
        """Return the account, or the id of the status, that a web address leads to: its id, or its page."""
        try:
            return await self.require_resource(url)
        except (DocumentMissing, UntrustedDocument):
            return None

    async def require_resource(self, url: str) -> Account | int:
        """Return the account, or the id of the status, at a web address. Raise FetchFailed with the reason if there is
        none."""
        if self._names.is_local(url):
            return _required(await self._own.find(url))
        url = ascii_uri(url)
        account = await self._context.database.read(remote_accounts.find, url)
        if account is not None and not is_over(account, self._context.clock.now()):
            return _required(None if account.deleted_at is not None else account)
        status = await self._context.database.read(remote_statuses.find, url)
        if status is not None:
            return _required(None if status.deleted else status.id)
        try:
            document = await self._fetcher.fetch_resource(url)
        except LeadsHere as elsewhere:
            return _required(await self._own.find(elsewhere.address))
        if actor_documents.is_actor(document):
            return _required(await self.account_of(document))
        return _required(await self._status_in(document))

    async def status(self, uri: str) -> int | None:
        """Return the status with a URI: stored, or fetched with its author."""
        known = await self._context.database.read(remote_statuses.find, uri)
        if known is not None or self._names.is_local(uri):
            return None if known is None or known.deleted else known.id
        try:
            return await self._status_flights.join(uri, partial(self._fetch_status, uri))
        except (DocumentMissing, UntrustedDocument):
            return None

    async def _fetch_status(self, uri: str) -> int | None:
        return await self._status_in(await self._fetcher.fetch(uri))

    async def _status_in(self, document: JsonObject) -> int | None:
        """Return the id of the status of a proven document, which is a post or the Create of a post.

        Some servers and relays boost a post by the id of its Create, and people search for it.
        """
        uri = uri_of(document.get("object")) if "Create" in types_of(document) else None
        if uri is None:
            return await self.status_of(document)
        known = await self._context.database.read(remote_statuses.find, uri)
        if known is not None:
            return None if known.deleted else known.id
        return await self.status_of(await self._fetcher.fetch(uri))

    async def status_of(self, document: JsonObject) -> int | None:
        """Store a post's document that `DocumentFetcher` has proven, and return the id of the status."""
        author_uri = author_of(document)
        if author_uri is None or not same_host(author_uri, uri_of(document) or ""):
            return None  # before the author is fetched from a third server
        author = None if self._names.is_local(author_uri) else await self.account(author_uri)
        if author is None or not is_post(document):
            return None
        note = await note_of(self._context, document, author)
        id = await store_read_note(self._runtime, note, author, wanted=True)
        if note is not None and id is not None:
            await self.find_parts(note)
        return id

    async def find_parts(self, note: ReceivedNote) -> None:
        """Fetch in the background the accounts that a stored post mentions, and the post that it quotes.

        Accounts and posts that were not found lately are left out.
        """
        others = [uri for uri in note.mentioned if not self._names.is_local(uri) and uri not in self._unfound]
        if others:
            known = await self._context.database.read(remote_statuses.stored_account_ids, others)
            others = [uri for uri in others if uri not in known][:MENTIONS]
        quote = note.quote
        if quote is not None and (quote.uri in self._unfound or await self._is_known(quote.uri)):
            quote = None
        if others or quote is not None:
            state = await self._context.database.read(remote_statuses.state, note.uri)
            parts = JoinParts(note.uri, state, tuple(others), quote)
            self._jobs.add("parts", note.uri, partial(self._fetch_parts, note.author, parts))

    async def _fetch_parts(self, author_uri: str, parts: JoinParts) -> None:
        """Fetch the accounts and the quoted post of a post, and send those that were found to its author's account."""
        with trio.move_on_after(PARTS_SECONDS):
            for uri in parts.mentioned:
                if await self._found(uri, self.account) is None:
                    self._unfound[uri] = None
            if parts.quote is not None:
                quote, authorized = await self._fetch_quoted(parts.uri, parts.quote)
                parts = replace(parts, quote=quote, authorized=authorized)
        author = await self._context.database.read(remote_accounts.find, author_uri)
        if author is not None and author.deleted_at is None:
            await self._runtime.ask(account_address(author.id), parts)

    async def _fetch_quoted(self, uri: str, quote: ReceivedQuote) -> tuple[ReceivedQuote, bool]:
        """Fetch the quoted post. Return the quote with its URI, and True if the server of its author allows the quote.

        Some servers name the page of a post in place of its id.
        """
        id = await self._found(quote.uri, self.status)
        quoted = None if id is None else await self._context.database.read(statuses.find, id)
        known = None if quoted is None else await self._context.database.read(remote_statuses.find, quoted.uri)
        if quoted is None or known is None:
            self._unfound[quote.uri] = None
            return quote, False
        quote = replace(quote, uri=quoted.uri)
        if quote.authorization is not None:
            with suppress(FetchFailed):
                database, fetcher = self._context.database, self._fetcher
                return quote, await is_allowed(database, fetcher, quote.authorization, uri, quote.uri, known)
        return quote, False

    async def _found(self, uri: str, find: Callable[[str], Awaitable[Found | None]]) -> Found | None:
        try:
            return await find(uri)
        except FetchFailed:
            return None

    def complete_later(self, uri: str) -> None:
        """Fetch in the background the missing posts of the thread around a status, and not too often."""
        if not self._names.is_local(uri) and uri not in self._completed:
            self._completed[uri] = None
            self._jobs.add("thread", uri, partial(self._threads.complete, uri))

    def find_parents_later(self, uri: str) -> None:
        """Fetch in the background the posts above a status."""
        self._jobs.add("parents", uri, partial(self._threads.find_parents, uri))

    def find_latest_later(self, account: Account, accepted_since: datetime) -> None:
        """Fetch in the background the latest posts of an account that has accepted a follow, and not too often.

        The follow was accepted after `accepted_since`: the account's server has delivered nothing before.
        """
        if account.uri not in self._outboxes_read:
            self._outboxes_read[account.uri] = None
            self._jobs.add("posts", account.uri, partial(self._latest.read, account, accepted_since))

    def do_later(self, work: str, uri: str, job: Job) -> None:
        """Run a job for a URI in the background, unless the same job is queued or runs already."""
        self._jobs.add(work, uri, job)

    def recount_later(self, uri: str) -> None:
        """Fetch in the background a poll that is viewed, and not too often.

        Some servers, such as Takahē, never send an Update when votes change.
        """
        if not self._names.is_local(uri) and uri not in self._recounted:
            self._recounted[uri] = None
            self._jobs.add("poll", uri, partial(self._recount, uri))

    async def _recount(self, uri: str) -> None:
        try:
            document = await self._fetcher.fetch(uri)
        except (DocumentMissing, UntrustedDocument):
            return
        author_uri = author_of(document)
        author = None if author_uri is None else await self.account(author_uri)
        note = None if author is None or not is_post(document) else await note_of(self._context, document, author)
        if author is not None and note is not None:
            await self._runtime.ask(account_address(author.id), ReceiveEdit(note, sent=False))

    async def _join_replies(self, status_id: int, address: str) -> None:
        """Join to a status the replies that name it by another address than its URI."""
        status = await self._context.database.read(statuses.find, status_id)
        if status is not None:
            await self._runtime.ask(account_address(status.account_id), JoinReplies(status_id, address))

    async def _is_known(self, uri: str) -> bool:
        """True for a status that is or was stored here, or that has an address of this server."""
        return self._names.is_local(uri) or await self._context.database.read(remote_statuses.find, uri) is not None

    async def account_of(self, document: JsonObject) -> Account | None:
        """Store and return the account of an actor's document that `DocumentFetcher` has proven."""
        own = actor_documents.own_handle_of(document)
        proof = await self._webfinger.find(own)
        return await self._store(document, proof)

    async def refresh(self, account: Account, *, has_changed: bool = False) -> Account | None:
        """Fetch an account again, and return it. If its server says that it is gone, it is deleted here.

        With `has_changed`, a running fetch is not joined: it may return the earlier document.
        """
        join = self._flights.join_next if has_changed else self._flights.join
        try:
            return await join(account.uri, partial(self._refetch, account))
        except (DocumentMissing, UntrustedDocument):
            return account

    def refresh_later(self, account: Account) -> None:
        """Fetch in the background an account that is viewed, if its last fetch was long ago."""
        self._refresh_if_older(account, STALE_AFTER)

    def check_later(self, account: Account) -> None:
        """Fetch an account again in the background: its inbox is gone, and the account may be gone too."""
        self._jobs.add("refresh", account.uri, partial(self.refresh, account))

    def _refresh_if_older(self, account: Account, age: timedelta) -> None:
        if account.domain is None or account.deleted_at is not None or account.suspended_at is not None:
            return
        if account.fetched_at is None or self._context.clock.now() - account.fetched_at > age:
            self._jobs.add("refresh", account.uri, partial(self.refresh, account))

    async def _stored(self, username: str, domain: str | None) -> Account | None:
        found = await self._context.database.read(accounts.find_by_acct, username, domain)
        return None if found is None or found.deleted_at is not None else found

    async def _discover(self, key: str, work: Callable[[], Awaitable[Account | None]]) -> Account | None:
        """Do work that may store a new account. Concurrent callers share it."""
        try:
            return await self._flights.join(key, work)
        except (DocumentMissing, UntrustedDocument):
            return None

    async def _fetch(self, uri: str, *, follows_moves: bool = True) -> Account | None:
        document = await self._fetcher.fetch(uri)
        proof = await self._webfinger.find(actor_documents.own_handle_of(document))
        return await self._store(document, proof, follows_moves=follows_moves)

    async def _find(self, handle: Handle) -> Account | None:
        """Return the account that WebFinger names, if it also leads from the actor to the handle."""
        proof = await self._webfinger.find(handle)
        document = await self._fetcher.fetch(proof.actor_uri)
        own = actor_documents.own_handle_of(document)
        if not own.is_same(proof.handle):
            reverse = await self._webfinger.find(own)
            # Some servers repeat the requested handle in their answer. If a parent domain of theirs names their actor,
            # the handle is proven too.
            agree = reverse.handle.is_same(proof.handle) or is_within(own.domain, proof.handle.domain.partition(":")[0])
            if not agree or not same_uri(reverse.actor_uri, proof.actor_uri):
                raise UntrustedDocument("the actor has another handle")
            proof = reverse
        return await self._store(document, proof)

    async def _store(self, document: JsonObject, proof: HandleProof, *, follows_moves: bool = True) -> Account | None:
        """Store an actor under its proven handle."""
        uri = actor_documents.actor_uri_of(document)
        if not same_uri(proof.actor_uri, uri):
            raise UntrustedDocument("the handle is of another actor")
        if self._context.blocks.domains.standing_of(proof.handle.domain).suspended:
            raise HostNotAllowed("the domain of the handle is suspended")
        if await self._context.database.read(remote_accounts.find, uri) is None:
            self._discoveries.admit(host_of(uri) or "")
        return await self._store_profile(document, proof.handle, follows_moves=follows_moves)

    async def _store_profile(
        self, document: JsonObject, handle: Handle, *, follows_moves: bool = True
    ) -> Account | None:
        # In a thread: the texts of fifty fields may take a quarter of a second.
        profile = await trio.to_thread.run_sync(actor_documents.profile_of, document, handle, self._context.clock.now())
        # The inbox may be at a service that delivers for the actor's host.
        if not self._fetcher.may_request(profile.inbox_url):
            raise UntrustedDocument("the actor's inbox is at a host that must not be asked")
        account = await store_profile(
            self._context, profile, actor_documents.keys_of(document, self._context.clock.now())
        )
        if account is not None:
            target = actor_documents.moved_to(document) if follows_moves else None
            tags_url = uri_of(document.get("featuredTags"))
            self._jobs.add("details", account.uri, partial(self._details.read, account, target, tags_url))
        return account

    async def _refetch(self, account: Account) -> Account | None:
        await self._count_as_fetched(account)
        try:
            document = await self._fetcher.fetch(account.uri)
        except DocumentGone:
            await self._runtime.ask(account_address(account.id), DeleteAccount())
            return None
        if actor_documents.actor_uri_of(document) != account.uri:
            raise UntrustedDocument("the document is of another actor")
        return await self._store_profile(document, await self._handle_of(document, account))

    async def _handle_of(self, document: JsonObject, account: Account) -> Handle:
        """Return the handle of a stored account: its present handle, unless WebFinger proves another."""
        try:
            proof = await self._webfinger.find(actor_documents.own_handle_of(document))
        except FetchFailed:
            proof = None
        if proof is not None and same_uri(proof.actor_uri, account.uri):
            return proof.handle
        return Handle(account.username, account.domain or "")

    async def _count_as_fetched(self, account: Account) -> None:
        """Mark the account as fetched, also if its server does not answer, so that it is not fetched again soon."""
        with self._context.facts.publishing():
            await self._context.database.transact(remote_accounts.touch, account.id, self._context.clock.now())
            await self._context.facts.apply([ChangedAccount(account.id)])

    async def _find_target(self, uri: str) -> Account | None:
        """Return the account that another account claims to have moved to. Its own moves are not followed."""
        known = await self._context.database.read(remote_accounts.find, uri)
        return known or await self._discover(uri, partial(self._fetch, uri, follows_moves=False))


def _required(found: Found | None) -> Found:
    """Return `found`. Raise DocumentUnknown if it is None."""
    if found is None:
        raise DocumentUnknown("nothing usable was found")
    return found
