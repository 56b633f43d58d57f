"""The context of the HTTP room: everything that an endpoint may use, and the current settings.

Settings that staff change override the configuration at once, without a restart. They include the rule for sign-ups,
which is in memory because many pages and answers need it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import trio

from ...actors.broadcast.viewers import Viewers
from ...actors.cluster.others import Others
from ...actors.configuration import Settings
from ...actors.facts.access import RevokedToken
from ...actors.facts.accounts import ReloadedAccount
from ...actors.facts.fact import Facts
from ...actors.facts.moderation import ModeratedAccount
from ...actors.facts.server import ChangedCustomEmojis, ChangedTrends
from ...actors.facts.statuses import DeletedStatus, EditedStatus
from ...actors.federation.federation import Federation
from ...actors.federation.reception import Reception
from ...actors.federation.remote_files import RemoteFiles
from ...actors.kept.withdrawals import Withdrawals
from ...actors.kernel.clock import Clock, Ids
from ...actors.kernel.pool_context import Record
from ...actors.kernel.runtime import Runtime
from ...actors.media.processor import MediaProcessor
from ...actors.memory.operator_texts import OperatorTexts
from ...actors.memory.push_key import PushKey
from ...actors.memory.row_loader import RowLoader
from ...actors.memory.server_blocks import ServerBlocks
from ...actors.memory.suggestions import Suggestions
from ...actors.outgoing.client import OutgoingClient
from ...actors.outgoing.mail_servers import FindMailServers
from ...actors.rules.live_settings import LIVE_SETTINGS, InvalidSetting, Value
from ...actors.rules.registration import effective_registrations
from ...actors.shown.statuses import AccountCache, StatusCache
from ...actors.shown.trends import Trends
from ...actors.translation.port import Translator
from ...actors.translation.translations import Translations
from ...storage import changed_settings, oauth
from ...storage.changed_settings import Registrations
from ...storage.engine.database import Connection, Database
from ..answers.cached import CachedAnswers
from ..answers.errors import NotFound, Unauthorized
from ..entities.rendered import Renderings
from ..intake.request import Request, request_ids
from .authentication import USER_REQUIRED, Tokens, Viewer, Visits, is_barred
from .operations import LivePages, ProxyProbe, Readiness, ServerOperations, Unsupervised
from .rates import RateLimits, Rates, RequestCounts
from .streams import Pump, Streams

P = ParamSpec("P")
R = TypeVar("R")

# argon2 needs 19 MiB and some 20 ms of a core for each password. Two at once leave enough for other requests.
PASSWORDS_AT_ONCE = 2
# For each node of a cluster: two on a machine hash as many passwords at once as a server that is alone.
PASSWORDS_OF_A_NODE = 1
# Tokens that a query reads, when those of all streams are read again.
TOKENS_AT_ONCE = 1_000
# Settings with loaders of their own.
APART = frozenset({"registrations", "log_level"})


class Answered(Protocol):
    """An answer to a request, or the end of a handshake."""

    @property
    def status(self) -> int: ...


A = TypeVar("A", bound=Answered)


class TraceRequest(Protocol):
    """Awaits the answer to a request of a route in a span of its own, and returns it."""

    async def __call__(self, route: str, request: Request, answering: Awaitable[A], /) -> A: ...


@dataclass(slots=True, kw_only=True, eq=False)
class HttpContext:
    """Passed to every endpoint that has a parameter of this type.

    `settings` are the current settings: staff may change some while the server runs. `configured` are the settings of
    the configuration.
    """

    settings: Settings
    database: Database
    runtime: Runtime
    clock: Clock
    ids: Ids
    record: Record  # the supervision log
    secret: Callable[[], str]  # returns a new random token
    push_key: PushKey
    accounts: AccountCache
    statuses: StatusCache
    facts: Facts
    viewers: Viewers
    withdrawals: Withdrawals
    blocks: ServerBlocks
    media: MediaProcessor
    outgoing: OutgoingClient
    federation: Federation
    reception: Reception
    mail_servers: FindMailServers
    translator: Translator | None = None
    trace: TraceRequest | None = None
    operations: ServerOperations = field(default_factory=Unsupervised)
    tokens: Tokens = field(default_factory=Tokens)
    visits: Visits = field(default_factory=Visits)
    rates: Rates = field(default_factory=Rates)
    counts: RequestCounts = field(default_factory=RequestCounts)
    others: Others = field(init=False)  # the other nodes of the cluster
    lapses: int = 0  # times that this node has become incomplete (`Others.is_complete`)
    limits: RateLimits = field(init=False)
    configured: Settings = field(init=False)
    live_settings: LiveSettings = field(init=False)
    new_request_id: Callable[[], str] = field(init=False)
    rendered: Renderings = field(init=False)
    readiness: Readiness = field(init=False)
    operator_texts: OperatorTexts = field(init=False)
    kept: CachedAnswers = field(default_factory=CachedAnswers)
    sign_ups: SignUps = field(init=False)
    remote_files: RemoteFiles = field(init=False)
    trends: Trends = field(init=False)
    suggestions: Suggestions = field(init=False)
    translations: Translations = field(init=False)
    probe: ProxyProbe = field(init=False)
    streams: Streams = field(default_factory=Streams)
    live_pages: LivePages = field(default_factory=LivePages)
    pump: Pump = field(default_factory=Pump)
    passwords: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(PASSWORDS_AT_ONCE))

    def __post_init__(self) -> None:
        self.others = self.facts.others
        self.others.observe(self._note_completeness)
        self.limits = self._limits()
        self.configured = self.settings
        self.live_settings = LiveSettings(self.database, self.use_settings)
        self.new_request_id = request_ids(self.secret())
        self.rendered = Renderings(self.clock.now)
        self.readiness = Readiness(self.database, self.others)
        self.probe = ProxyProbe(self.clock, self.secret)
        texts, description = self.settings.data / "texts", self.settings.description
        self.operator_texts = OperatorTexts(texts, description, self.clock, self.record)
        self.trends = Trends(self.database, self.clock, review=self.settings.trends_review)
        self.sign_ups = self._sign_ups()
        self.remote_files = RemoteFiles(
            self.database, self.clock, self.outgoing, self.media, self.blocks, self.settings.local_domain, self.facts
        )
        self.suggestions = Suggestions(self.database, self.clock)
        self.translations = Translations(self.translator, self.clock, self.record)
        self.blocks.observe(self._end_barred)
        self.blocks.observe(self.kept.forget)
        self.facts.observe(EditedStatus, lambda fact: self.translations.drop(fact.id))
        self.facts.observe(DeletedStatus, lambda fact: self.translations.drop(fact.deleted.status.id))
        self.facts.observe(RevokedToken, self._end_token)
        self.facts.observe(ReloadedAccount, lambda fact: self.tokens.forget_account(fact.account_id))
        self.facts.clear_by(self.tokens.clear)
        self.facts.reread_by(self.recheck_streams)
        self.facts.observe(ModeratedAccount, self._moderated)
        self.facts.observe(ChangedTrends, lambda fact: self.trends.forget())
        self.facts.clear_by(self.trends.forget)
        self.facts.observe(ChangedCustomEmojis, self.rendered.use_emojis)
        self.facts.load_by("settings", self.live_settings.reload)
        self.facts.load_by("sign_ups", self.sign_ups.reload)

    def note_visit(self, request: Request, account_id: int) -> None:
        """Note that a user is active now, at the address of a request."""
        self.visits.note(account_id, request.address(self.settings.trusted_proxies), self.clock.now())

    def was_complete_since(self, lapses: int) -> bool:
        """True if this node could answer from memory all the time since `self.lapses` had this value."""
        return self.lapses == lapses and self.others.is_complete

    def check_preview(self, viewer: Viewer | None) -> None:
        """Raise 401 for visitors if the setting for previews is off."""
        if viewer is None and not self.settings.shows_previews:
            raise Unauthorized(USER_REQUIRED)

    def _limits(self) -> RateLimits:
        if (counts := self.others.counts) is None:
            return RateLimits(self.rates, self.clock, self.settings)
        # Late: a server that is alone needs neither these modules nor their statements.
        from .cluster_rates import RatesOfNodes, StoredRates

        self.passwords.total_tokens = PASSWORDS_OF_A_NODE
        stored = StoredRates(self.database)
        return RateLimits(self.rates, self.clock, self.settings, RatesOfNodes(counts), stored)

    def _sign_ups(self) -> SignUps:
        settings = self.settings
        return SignUps(
            self.database,
            settings.registrations,
            sends_mail=settings.sends_mail,
            require_reason=lambda: self.settings.require_reason,
            on_change=self.kept.forget,
        )

    def use_settings(self, changed: Mapping[str, Value]) -> None:
        """Override settings of the configuration."""
        self.settings = self.limits.settings = self.configured.changed(changed)
        self.operator_texts.describe(self.settings.description)
        self.kept.forget()

    async def recheck_streams(self) -> None:
        """Close the streams whose tokens are not valid any more, because facts about tokens may be lost."""
        hashes = list(self.streams.token_hashes())
        for start in range(0, len(hashes), TOKENS_AT_ONCE):
            asked = hashes[start : start + TOKENS_AT_ONCE]
            found = {token.token_hash: token for token in await self.database.read(oauth.find_tokens, asked)}
            for token_hash in asked:
                token = found.get(token_hash)
                if token is None or token.revoked_at is not None:
                    self.streams.close_token(token_hash)
                elif token.account_id is not None and is_barred(token):
                    self.streams.close_account(token.account_id)

    def _note_completeness(self) -> None:
        if self.others.is_complete:
            self.streams.resume_all()
        else:
            self.lapses += 1

    def _end_barred(self) -> None:
        """Close the streams of blocked networks."""
        networks, now = self.blocks.networks, self.clock.now()
        if networks.bar_some:
            self.streams.close_addresses(lambda address: networks.severity_for(address, now) == "no_access")

    def _end_token(self, fact: RevokedToken) -> None:
        """Drop a token from the cache and close its streams."""
        self.tokens.forget(fact.token_hash)
        self.streams.close_token(fact.token_hash)

    def _moderated(self, fact: ModeratedAccount) -> None:
        """Drop the tokens of an account from the cache, and close its streams if its user may not sign in any more."""
        self.tokens.forget_account(fact.account_id)
        if fact.barred:
            self.streams.close_account(fact.account_id)


async def find_row(
    context: HttpContext,
    query: Callable[Concatenate[Connection, P], Awaitable[R | None]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> R:
    """Return the result of a query. Raises NotFound if it is None."""
    found = await context.database.read(query, *args, **kwargs)
    if found is None:
        raise NotFound
    return found


class LiveSettings(RowLoader):
    """Calls `use` with the changed settings, at start and after each change."""

    def __init__(self, database: Database, use: Callable[[Mapping[str, Value]], None]) -> None:
        super().__init__()
        self._database = database
        self._use = use

    async def _read(self) -> None:
        self._use(values_in(await self._database.read(changed_settings.find_all)))


def values_in(rows: Mapping[str, str]) -> dict[str, Value]:
    """Return the values of the settings in rows.

    Values that this version can't parse, because another version has stored them, are ignored.
    """
    found: dict[str, Value] = {}
    for name, text in rows.items():
        if name in LIVE_SETTINGS and name not in APART:
            try:
                found[name] = LIVE_SETTINGS[name].parsed(text)
            except InvalidSetting:
                continue
    return found


class SignUps(RowLoader):
    """The current rule for sign-ups: the rule that staff have set, else the rule of the configuration."""

    def __init__(
        self,
        database: Database,
        configured: Registrations,
        *,
        sends_mail: bool,
        require_reason: Callable[[], bool],
        on_change: Callable[[], None],
    ) -> None:
        super().__init__()
        self._database = database
        self._configured: Registrations = configured
        self._sends_mail = sends_mail
        self._require_reason = require_reason
        self._on_change = on_change
        self._changed_to: Registrations | None = None

    @property
    def rule(self) -> Registrations:
        """The rule for sign-ups: open, with approval by staff, or closed."""
        return effective_registrations(self._changed_to, self._configured, sends_mail=self._sends_mail)

    @property
    def closed_without_mail(self) -> bool:
        """True if sign-ups are closed only because there is no mail server."""
        return self.rule == "closed" and (self._changed_to or self._configured) != "closed"

    @property
    def reason_required(self) -> bool:
        """True if a sign-up without a reason is refused."""
        return self.rule == "approval" and self._require_reason()

    async def _read(self) -> None:
        self._changed_to = await self._database.read(changed_settings.find_registrations)
        self._on_change()
