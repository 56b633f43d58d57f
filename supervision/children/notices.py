"""Notices that another program, such as a command of the command line, has changed the database."""

from __future__ import annotations

from ...http.access.context import HttpContext
from ..log.level import LiveLogLevel
from .actor_system import ActorSystem


def apply_notice(notice: str | None, actors: ActorSystem, http_context: HttpContext, log_level: LiveLogLevel) -> None:
    """Drop caches, or reload them, for a notice. None means that notices may be lost: then all caches."""
    if notice is None:
        actors.facts.clear()
    else:
        # A command may have changed rows that accounts cache. Commands are rare, so all are dropped.
        actors.own_rows.clear()
    if notice == "accounts":
        actors.accounts.clear()
        http_context.tokens.clear()
    if notice == "statuses":
        actors.statuses.clear()
    if notice == "trends":
        http_context.trends.forget()
    if notice in (None, "announcements", "outbox"):
        actors.outbox.wake()
    if notice in (None, "texts"):
        http_context.operator_texts.forget()
    if notice in (None, "blocks"):
        actors.blocks.wake()
    if notice in (None, "hosts"):
        actors.hosts.forget()
    if notice in (None, "sign_ups"):
        http_context.sign_ups.wake()
    if notice in (None, "custom_emojis"):
        actors.custom_emojis.wake()
    if notice in (None, "settings"):
        http_context.live_settings.wake()
    if notice in (None, "log_level"):
        log_level.wake()
