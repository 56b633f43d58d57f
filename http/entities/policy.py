"""Rule, ExtendedDescription, PrivacyPolicy, TermsOfService."""

from __future__ import annotations

from datetime import date

from ...actors.policies import PolicyText, Terms
from ...storage.policies import Rule
from .times import maybe_instant


def rule_fields(rule: Rule) -> dict[str, object]:
    return {
        "id": str(rule.id),
        "text": rule.original.text,
        "hint": rule.original.hint,
        "translations": {language: {"text": one.text, "hint": one.hint} for language, one in rule.translations.items()},
    }


def policy_fields(text: PolicyText) -> dict[str, object]:
    return {"updated_at": maybe_instant(text.updated_at), "content": text.html}


def terms_fields(terms: Terms, today: date) -> dict[str, object]:
    return {
        "effective_date": terms.effective.isoformat(),
        "effective": terms.effective <= today,
        "content": terms.html,
        "succeeded_by": None if terms.succeeded_by is None else terms.succeeded_by.isoformat(),
    }
