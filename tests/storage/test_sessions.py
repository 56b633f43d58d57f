"""Sessions of browsers, and the end of all access to an account."""

from datetime import timedelta

from troupe.storage import oauth, passwords, sessions
from troupe.storage.accounts import Account
from troupe.storage.engine.database import Connection
from troupe.storage.oauth import Application, Grant, NewToken
from troupe.storage.users import MailedLink

from .conftest import NOW, Stage, new_id
from .racing import Work, race

LATER = NOW + timedelta(days=2)
HERE, THERE = b"h" * 32, b"t" * 32


def signing_in(account: Account, secret: bytes = HERE, password_hash: str = "hash") -> Work:
    async def work(db: Connection) -> bool:
        return await sessions.insert(db, secret, account.id, "Browser", password_hash, NOW, LATER)

    return work


def changing(account: Account, new_hash: str = "new") -> Work:
    async def work(db: Connection) -> bool:
        changed = await passwords.change(db, account.id, "hash", new_hash)
        await sessions.delete_others(db, account.id, b"")
        return changed

    return work


def change(stage: Stage, account: Account) -> None:
    assert stage(passwords.change, account.id, "hash", "new")
    stage(sessions.delete_others, account.id, b"")


def resetting(account: Account, new_hash: str) -> Work:
    async def work(db: Connection) -> bool:
        return await passwords.use_reset(db, account.id, HERE, new_hash, NOW)

    return work


def link(stage: Stage, account: Account, email: str = "ada@troupe.test") -> None:
    stage(passwords.insert_reset, MailedLink(HERE, account.id, email, NOW, LATER))


def test_a_session_ends_by_time_and_by_word(stage: Stage) -> None:
    ada = stage.account("ada")
    assert stage(sessions.insert, HERE, ada.id, "Browser", "hash", NOW, LATER)
    assert stage(sessions.find, HERE, NOW) == ada.id
    assert stage(sessions.find, HERE, LATER) is None
    stage(sessions.delete, HERE)
    assert stage(sessions.find, HERE, NOW) is None


def test_a_sign_in_with_a_password_that_was_changed_meanwhile_makes_no_session(stage: Stage) -> None:
    ada = stage.account("ada")
    assert race(stage, changing(ada), signing_in(ada)) == [True, False]
    assert stage.value("SELECT count(*) FROM web_sessions") == 0


def test_a_change_ends_the_session_of_a_sign_in_at_the_same_time(stage: Stage) -> None:
    ada = stage.account("ada")
    assert race(stage, signing_in(ada), changing(ada)) == [True, True]
    assert stage.value("SELECT count(*) FROM web_sessions") == 0


def test_of_two_changes_of_one_password_the_second_is_refused(stage: Stage) -> None:
    ada = stage.account("ada")
    assert race(stage, changing(ada, "first"), changing(ada, "second")) == [True, False]
    assert stage.value("SELECT password_hash FROM users") == "first"


def test_a_link_that_is_used_twice_at_once_sets_one_password(stage: Stage) -> None:
    ada = stage.account("ada")
    link(stage, ada)
    assert race(stage, resetting(ada, "first"), resetting(ada, "second")) == [True, False]
    assert stage.value("SELECT password_hash FROM users") == "first"


def test_a_link_is_good_for_its_time_its_account_and_its_address(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    link(stage, ada)
    assert stage(passwords.find_reset, HERE, NOW) == ada.id
    assert stage(passwords.find_reset, HERE, LATER) is None
    assert not stage(passwords.use_reset, bob.id, HERE, "new", NOW)
    assert not stage(passwords.use_reset, ada.id, HERE, "new", LATER)
    stage.sql("UPDATE users SET email = 'new@troupe.test' WHERE account_id = $1", ada.id)
    assert stage(passwords.find_reset, HERE, NOW) is None
    assert not stage(passwords.use_reset, ada.id, HERE, "new", NOW)


def test_a_change_of_the_password_voids_links_that_were_sent_before(stage: Stage) -> None:
    ada = stage.account("ada")
    link(stage, ada)
    stage(passwords.change, ada.id, "hash", "new")
    assert stage(passwords.find_reset, HERE, NOW) is None


def waiting_grant(stage: Stage, account: Account) -> Grant:
    app = Application(new_id(), "id", b"s" * 32, "app", None, ("https://a/",), ("read",), NOW)
    stage(oauth.insert_application, app)
    return Grant(HERE, app.id, account.id, "https://a/", ("read",), None, NOW, LATER)


def allowing(grant: Grant, session: bytes) -> Work:
    async def work(db: Connection) -> bool:
        return await oauth.insert_grant(db, grant, session)

    return work


def test_a_code_is_for_a_session_of_its_user_alone(stage: Stage) -> None:
    ada, bob = stage.account("ada"), stage.account("bob")
    grant = waiting_grant(stage, ada)
    for session in (THERE, stage.session(bob)):
        assert not stage(oauth.insert_grant, grant, session)
    assert stage(oauth.insert_grant, grant, stage.session(ada))


def test_a_change_of_the_password_ends_codes_that_were_not_redeemed(stage: Stage) -> None:
    ada = stage.account("ada")
    grant = waiting_grant(stage, ada)
    assert stage(oauth.insert_grant, grant, stage.session(ada))
    change(stage, ada)
    assert stage(oauth.redeem, HERE, grant.application_id, "https://a/", NOW) is None


def test_a_code_that_was_redeemed_still_tells_of_its_token(stage: Stage) -> None:
    ada = stage.account("ada")
    grant = waiting_grant(stage, ada)
    assert stage(oauth.insert_grant, grant, stage.session(ada))
    assert stage(oauth.redeem, HERE, grant.application_id, "https://a/", NOW)
    token = stage(oauth.insert_token, NewToken(new_id(), THERE, grant.application_id, ada.id, ("read",)), NOW)
    stage(oauth.link_grant, HERE, token.id)
    change(stage, ada)
    assert stage(oauth.revoke_by_code, HERE, grant.application_id, NOW) == THERE


def test_a_code_for_a_session_that_a_change_ends_meanwhile_is_refused(stage: Stage) -> None:
    ada = stage.account("ada")
    grant, session = waiting_grant(stage, ada), stage.session(ada)
    assert race(stage, changing(ada), allowing(grant, session)) == [True, False]


def test_a_change_ends_a_code_that_is_stored_at_the_same_time(stage: Stage) -> None:
    ada = stage.account("ada")
    grant, session = waiting_grant(stage, ada), stage.session(ada)
    assert race(stage, allowing(grant, session), changing(ada)) == [True, True]
    assert stage.value("SELECT count(*) FROM oauth_grants") == 0


def asking(grant: Grant) -> Work:
    new = NewToken(new_id(), THERE, grant.application_id, grant.account_id, ("read",))

    async def work(db: Connection) -> bool:
        return await oauth.insert_token_by_password(db, new, "hash", NOW) is not None

    return work


def test_a_token_for_a_password_that_was_changed_meanwhile_is_refused(stage: Stage) -> None:
    ada = stage.account("ada")
    assert race(stage, changing(ada), asking(waiting_grant(stage, ada))) == [True, False]
    assert stage.value("SELECT count(*) FROM access_tokens") == 0


def test_a_change_revokes_a_token_that_is_stored_for_the_password_at_the_same_time(stage: Stage) -> None:
    ada = stage.account("ada")

    async def ending(db: Connection) -> bool:
        changed = await passwords.change(db, ada.id, "hash", "new")
        await sessions.revoke_tokens(db, ada.id, NOW)
        return changed

    assert race(stage, asking(waiting_grant(stage, ada)), ending) == [True, True]
    assert stage.value("SELECT count(*) FROM access_tokens WHERE revoked_at IS NULL") == 0


def test_a_code_that_is_exchanged_while_all_tokens_are_revoked_gives_no_valid_token(stage: Stage) -> None:
    ada = stage.account("ada")
    grant = waiting_grant(stage, ada)
    assert stage(oauth.insert_grant, grant, stage.session(ada))

    async def exchanging(db: Connection) -> bool:
        if await oauth.redeem(db, HERE, grant.application_id, "https://a/", NOW) is None:
            return False
        await oauth.insert_token(db, NewToken(new_id(), THERE, grant.application_id, ada.id, ("read",)), NOW)
        return True

    async def revoking(db: Connection) -> list[bytes]:
        return await sessions.revoke_tokens(db, ada.id, NOW)

    assert race(stage, exchanging, revoking) == [True, [THERE]]
    assert stage.value("SELECT count(*) FROM access_tokens WHERE revoked_at IS NULL") == 0
