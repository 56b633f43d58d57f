"""How long another server asks to wait."""

from datetime import datetime, timedelta

import pytest

from troupe.actors.outgoing.messages import time_of

from ..storage.conftest import NOW

HTTP_DATE = (NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")


@pytest.mark.parametrize(
    ("header", "at"),
    [
        (None, None),
        ("0", NOW),
        (" 120 ", NOW + timedelta(seconds=120)),
        ("99999999999999999999", NOW + timedelta(days=1)),
        (HTTP_DATE, NOW.replace(microsecond=0) + timedelta(seconds=90)),
        ("Fri, 01 Jan 2100 00:00:00 GMT", NOW + timedelta(days=1)),
        ("Thu, 01 Jan 1970 00:00:00 -0000", NOW),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("²", None),
        ("Fri, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Fri, 01 Jan 2100 00:00:00 +99999999999999", None),
    ],
)
def test_a_push_service_says_how_long_to_wait_in_seconds_or_as_a_date(header: str | None, at: datetime | None) -> None:
    assert time_of(header, NOW) == at
