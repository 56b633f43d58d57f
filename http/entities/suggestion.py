"""Suggestion: an account to follow, and why it is suggested."""

from __future__ import annotations

from ...storage.suggestions import Suggestion

# The API has no word for past interactions among the `sources`: they are empty then, unless the account is popular too.
PAST_INTERACTIONS = b"past_interactions"
GLOBAL = b"global"


def suggestion_json(suggestion: Suggestion, account: bytes) -> bytes:
    """Return the suggestion of an account that is already rendered."""
    source = PAST_INTERACTIONS if suggestion.interacted else GLOBAL
    sources = b'"most_followed"' if suggestion.popular else b""
    return b'{"source":"%b","sources":[%b],"account":%b}' % (source, sources, account)
