"""Codes are accepted once, also when two requests have the same one at the same time."""

from datetime import timedelta

from troupe.storage import passwords, sessions, two_factor
from troupe.storage.accounts import Account
from troupe.storage.engine.database import Connection
from troupe.storage.two_factor import MOST_TRIES

from .conftest import NOW, Stage
from .racing import Work, race

LATER = NOW + timedelta(minutes=10)
SECRET = "A" * 32
CODES = [bytes([number]) * 32 for number in range(10)]


def enabled(stage: Stage) -> Account:
    ada = stage.account("ada")
    assert stage(two_factor.begin, ada.id, SECRET, NOW)
    assert stage(two_factor.enable, ada.id, SECRET, 100, CODES, NOW)
    return ada


def using_step(account: Account, step: int) -> Work:
    async def work(db: Connection) -> bool:
        return await two_factor.use_step(db, account.id, step)

    return work


def using_recovery_code(account: Account) -> Work:
    async def work(db: Connection) -> bool:
        return await two_factor.use_recovery_code(db, account.id, CODES[3])

    return work


def test_a_code_is_accepted_once_of_two_at_once(stage: Stage) -> None:
    ada = enabled(stage)
    assert race(stage, using_step(ada, 101), using_step(ada, 101)) == [True, False]


def test_an_earlier_code_is_refused_after_a_later_one(stage: Stage) -> None:
    ada = enabled(stage)
    assert not stage(two_factor.use_step, ada.id, 100), "the code that turned it on"
    assert stage(two_factor.use_step, ada.id, 102)
    assert not stage(two_factor.use_step, ada.id, 101)


def test_a_recovery_code_is_accepted_once_of_two_at_once(stage: Stage) -> None:
    ada = enabled(stage)
    assert race(stage, using_recovery_code(ada), using_recovery_code(ada)) == [True, False]
    found = stage(two_factor.find, ada.id)
    assert found is not None
    assert found.recovery_codes == 9


def test_a_secret_that_is_not_confirmed_opens_nothing(stage: Stage) -> None:
    ada = stage.account("ada")
    stage(two_factor.begin, ada.id, SECRET, NOW)
    assert not stage(two_factor.is_enabled, ada.id)
    assert not stage(two_factor.use_step, ada.id, 101)


def test_the_secret_of_an_account_that_has_it_on_stays(stage: Stage) -> None:
    ada = enabled(stage)
    assert not stage(two_factor.begin, ada.id, "B" * 32, NOW)
    assert not stage(two_factor.enable, ada.id, SECRET, 200, [], NOW)
    assert stage.value("SELECT secret FROM two_factor") == SECRET
    assert stage.value("SELECT count(*) FROM recovery_codes") == 10


def test_turning_it_off_leaves_nothing(stage: Stage) -> None:
    ada = enabled(stage)
    assert [stage(two_factor.disable, ada.id) for _ in range(2)] == [True, False]
    assert stage.value("SELECT count(*) FROM recovery_codes") == 0


def test_a_browser_may_send_a_few_codes_for_some_minutes(stage: Stage) -> None:
    ada = stage.account("ada")
    stage(two_factor.insert_challenge, b"c" * 32, ada.id, "hash", NOW, LATER)
    assert stage(two_factor.count_try, b"c" * 32, LATER) is None
    assert [stage(two_factor.count_try, b"c" * 32, NOW) for _ in range(MOST_TRIES)] == [ada.id] * MOST_TRIES
    assert stage(two_factor.count_try, b"c" * 32, NOW) is None
    assert stage(two_factor.find_challenge, b"c" * 32, NOW) is None
    assert [stage(two_factor.delete_challenge, b"c" * 32) for _ in range(2)] == [True, False]


def test_a_password_that_was_changed_meanwhile_lets_no_browser_send_a_code(stage: Stage) -> None:
    ada = enabled(stage)

    async def changing(db: Connection) -> bool:
        changed = await passwords.change(db, ada.id, "hash", "new")
        await sessions.delete_others(db, ada.id, b"")
        return changed

    async def signing_in(db: Connection) -> bool:
        return await two_factor.insert_challenge(db, b"c" * 32, ada.id, "hash", NOW, LATER)

    assert race(stage, changing, signing_in) == [True, False]
    assert stage.value("SELECT count(*) FROM sign_in_challenges") == 0
