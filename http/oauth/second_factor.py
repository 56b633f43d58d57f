"""The check of a code of an authenticator app, or of a recovery code. Wrong codes count for the account."""

from __future__ import annotations

from ...actors.rules.passwords import normalized, step_of
from ...storage import two_factor
from ...storage.secrets import hash_of
from ..access import rates
from ..access.context import HttpContext
from ..answers.errors import TooMany

WRONG_CODE = "This code is wrong, or was used already."


async def is_code(context: HttpContext, account_id: int, code: str) -> bool:
    """True if this is a valid code of the account, which then can't be used again. Raises TooMany.

    Each attempt counts as a failure until it succeeds, so that concurrent attempts are all counted.
    """
    attempt = await context.limits.attempt(rates.FAILED_CODES, str(account_id))
    if attempt.status.exceeded and context.settings.rate_limits:
        raise TooMany(attempt.status.headers)
    if not await _use(context, account_id, normalized(code)):
        return False
    await context.limits.take_back([attempt])
    return True


async def _use(context: HttpContext, account_id: int, code: str) -> bool:
    row = await context.database.read(two_factor.find, account_id)
    if row is None or row.enabled_at is None:
        return False
    step = step_of(row.secret, code, context.clock.now())
    if step is not None:
        return await context.database.transact(two_factor.use_step, account_id, step)
    return await context.database.transact(two_factor.use_recovery_code, account_id, hash_of(code))
