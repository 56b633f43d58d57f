"""Times that people and other servers write, within the centuries that they can mean."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# The driver stores Python's first and last instant as infinities, and returns these without a time zone: each page with
# an infinity would fail.
FIRST, LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

# A time as in mails (RFC 5322) and in headers of HTTP. Other names of zones than these two can mean several offsets.
MAIL_TIME = re.compile(
    r"[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}(?::[0-9]{2})? (?:GMT|UTC|[+-][0-9]{4})"
)
# A time as JavaScript prints it for people.
SCRIPT_TIME = re.compile(
    r"(?P<weekday>[A-Z][a-z]{2}) (?P<month>[A-Z][a-z]{2}) (?P<day>[0-9]{1,2}) (?P<year>[0-9]{4})"
    r" (?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2}) GMT(?P<offset>[+-][0-9]{4})(?: \([^()]*\))?"
)
# The name of a zone behind an offset, as Java prints it (RFC 9557). The offset counts.
ZONE_NAME = re.compile(r"(?<=[Z0-9])\[[A-Za-z0-9_/+-]{1,60}\]\Z")


def ascii_digits(text: str) -> str:
    """Return a text with ASCII digits in place of digits of other scripts.

    By default, programs print numbers and times in the digits of the device's language.
    """
    return text if text.isascii() else "".join(str(int(sign)) if sign.isdecimal() else sign for sign in text)


def instant_of(text: str) -> datetime | None:
    """Return a time in ISO 8601, in UTC where it has no offset.

    None if it is no time, or outside of `FIRST` to `LAST`.
    """
    try:
        written = datetime.fromisoformat(text.strip().upper())
        instant = written.replace(tzinfo=UTC) if written.tzinfo is None else written.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return instant if FIRST <= instant < LAST else None


def printed_instant(text: str) -> datetime | None:
    """Return a time in ISO 8601, or in the formats in which programs print times.

    JavaScript prints `Tue, 03 Feb 2026 04:05:06 GMT` or `Tue Feb 03 2026 05:05:06 GMT+0100 (CET)`, Ruby and Go end
    theirs with ` UTC`, Java with `[Europe/Berlin]`.
    """
    text = ZONE_NAME.sub("", text.strip(), 1)
    if (printed := SCRIPT_TIME.fullmatch(text)) is not None:
        text = "{weekday}, {day} {month} {year} {time} {offset}".format_map(printed.groupdict())
    if MAIL_TIME.fullmatch(text) is None:
        return instant_of(text.removesuffix(" UTC"))
    with suppress(ValueError):
        return instant_of(parsedate_to_datetime(text).isoformat())
    return None
