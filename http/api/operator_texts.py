"""The operator's texts: rules, description, privacy policy and terms of service."""

from __future__ import annotations

from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound
from ..entities.instance import operator_text_fields, rule_fields, terms_fields
from ..router import api


@api.get("/api/v1/instance/rules", returns="[Rule]")
async def show_rules(context: HttpContext) -> Answer:
    return json([rule_fields(rule) for rule in (await context.operator_texts.current()).rules])


@api.get("/api/v1/instance/extended_description", returns="ExtendedDescription")
async def show_description(context: HttpContext) -> Answer:
    """The operator's description as HTML; an empty string without a description."""
    return json(operator_text_fields((await context.operator_texts.current()).description))


@api.get("/api/v1/instance/privacy_policy", returns="PrivacyPolicy")
async def show_privacy(context: HttpContext) -> Answer:
    return json(operator_text_fields((await context.operator_texts.current()).privacy))


@api.get("/api/v1/instance/terms_of_service", returns="TermsOfService")
async def show_terms(context: HttpContext) -> Answer:
    """The terms that are in force today."""
    today = context.clock.now().date()
    terms = (await context.operator_texts.current()).terms_on(today)
    if terms is None:
        raise NotFound
    return json(terms_fields(terms, today))


@api.get("/api/v1/instance/terms_of_service/<date>", returns="TermsOfService")
async def show_terms_of(context: HttpContext, date: str) -> Answer:
    """The terms that come into force on a day."""
    for terms in (await context.operator_texts.current()).terms:
        if terms.effective.isoformat() == date:
            return json(terms_fields(terms, context.clock.now().date()))
    raise NotFound
