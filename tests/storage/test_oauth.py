"""Applications, grants, tokens and sessions."""

from datetime import timedelta

from troupe.storage import instance, oauth
from troupe.storage.accounts import Account
from troupe.storage.oauth import Application, Grant, NewToken
from troupe.storage.upkeep import expiry

from .conftest import NOW, Stage, new_id

CODE = b"c" * 32
TOKEN = b"t" * 32
LATER = NOW + timedelta(minutes=10)


def application(stage: Stage, name: str = "app") -> Application:
    app = Application(new_id(), name, b"s" * 32, name, None, ("https://a/", "app:/cb"), ("read", "write"), NOW)
    stage(oauth.insert_application, app)
    return app


def granted(stage: Stage, app: Application, account: Account) -> Grant:
    grant = Grant(CODE, app.id, account.id, "https://a/", ("read",), "x" * 43, NOW, LATER)
    assert stage(oauth.insert_grant, grant, stage.session(account))
    return grant


def test_an_application_is_found_by_its_client_id(stage: Stage) -> None:
    app = application(stage)
    assert stage(oauth.find_client, "app") == app
    assert stage(oauth.find_application, app.id) == app
    assert stage(oauth.find_client, "other") is None


def test_a_grant_is_for_one_client_one_address_and_ten_minutes(stage: Stage) -> None:
    ada, app, other = stage.account("ada"), application(stage), application(stage, "other")
    grant = granted(stage, app, ada)
    assert stage(oauth.redeem, CODE, other.id, "https://a/", NOW) is None
    assert stage(oauth.redeem, CODE, app.id, "app:/cb", NOW) is None
    assert stage(oauth.redeem, CODE, app.id, "https://a/", LATER) is None
    assert stage(oauth.find_grant, CODE, NOW) == grant
    assert stage(oauth.redeem, CODE, app.id, "https://a/", NOW) == grant
    assert stage(oauth.redeem, CODE, app.id, "https://a/", NOW) is None
    assert stage(oauth.find_grant, CODE, NOW) is None


def test_a_token_tells_the_state_of_its_user(stage: Stage) -> None:
    ada, app = stage.account("ada", role="admin"), application(stage)
    token = stage(oauth.insert_token, NewToken(new_id(), TOKEN, app.id, ada.id, ("read", "write")), NOW)
    assert (token.role, token.application_name, token.confirmed_at, token.disabled_at) == ("admin", "app", NOW, None)
    assert stage(oauth.holds_token, ada.id, app.id, ("read",))
    assert not stage(oauth.holds_token, ada.id, app.id, ("push",))
    stage.sql("UPDATE users SET disabled_at = $1", NOW)
    stage(expiry.note_use, [token.id], NOW)
    found = stage(oauth.find_token, TOKEN)
    assert found is not None
    assert (found.disabled_at, found.last_used_at) == (NOW, NOW)


def test_a_revoked_token_is_still_known(stage: Stage) -> None:
    ada, app, other = stage.account("ada"), application(stage), application(stage, "other")
    stage(oauth.insert_token, NewToken(new_id(), TOKEN, app.id, ada.id, ("read",)), NOW)
    assert not stage(oauth.revoke, TOKEN, other.id, NOW)
    assert stage(oauth.revoke, TOKEN, app.id, NOW)
    assert not stage(oauth.revoke, TOKEN, app.id, NOW)
    found = stage(oauth.find_token, TOKEN)
    assert found is not None
    assert found.revoked_at == NOW
    assert stage(oauth.find_tokens, [TOKEN, b"unknown"]) == [found]
    assert not stage(oauth.holds_token, ada.id, app.id, ("read",))


def test_the_instance_is_counted(stage: Stage) -> None:
    ada = stage.account("ada", role="admin")
    owner = stage.account("bob", role="owner")
    for domain in ("a.test", "a.test", "b.test"):
        stage.account(f"u{new_id()}", domain=domain)
    stage.status(ada)
    found = stage(instance.numbers, NOW - timedelta(days=30))
    assert (found.users, found.statuses, found.domains, found.active) == (2, 1, 2, 1)
    assert stage(instance.contact_account_id) == owner.id
