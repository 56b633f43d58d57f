"""What trends: growth over the day before, counted in accounts, and halved with each day."""

from datetime import timedelta

import pytest

from troupe.actors.rules.trends import LEAST_ACCOUNTS, growth_score, response_score

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("days", "trends"),
    [
        ([5, 0], True),
        ([4, 0], False),
        ([0, 0, 5, 0], True),
        ([5, 5], False),
        ([5, 6], False),
        ([6, 5], True),
        ([5], False),
        ([], False),
        ([0] * 7, False),
    ],
)
def test_a_day_counts_with_five_accounts_and_more_than_the_day_before(days: list[int], trends: bool) -> None:
    assert (growth_score(days) > 0) is trends


def test_growth_counts_more_than_size() -> None:
    assert growth_score([20, 2]) > growth_score([120, 100])


def test_each_day_halves() -> None:
    assert growth_score([0, 8, 0]) == growth_score([8, 0]) / 2
    assert growth_score([0, 0, 8, 0]) == growth_score([8, 0]) / 4


def test_the_best_day_decides() -> None:
    assert growth_score([5, 0, 40, 0]) == growth_score([0, 0, 40, 0])


def test_responses_of_five_accounts_are_halved_with_each_day() -> None:
    assert response_score(LEAST_ACCOUNTS - 1, HOUR) == 0
    assert response_score(8, 24 * HOUR) == 4
    assert response_score(8, HOUR) > response_score(8, 2 * HOUR) > response_score(7, 2 * HOUR)


def test_a_status_of_another_server_may_be_from_the_future() -> None:
    assert response_score(8, -1000 * HOUR) == 8
