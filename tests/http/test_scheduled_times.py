"""Times for which a post can't be scheduled, because the database would keep them as infinities."""

import pytest

from ..clients import Person


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999", "tomorrow"])
async def test_a_time_that_can_not_be_meant_is_refused(ada: Person, time: str) -> None:
    answer = await ada.post("/api/v1/statuses", {"status": "Tea", "scheduled_at": time})
    assert (answer.status, answer.json) == (422, {"error": "Record invalid"})
    assert (await ada.get("/api/v1/scheduled_statuses")).json == []
