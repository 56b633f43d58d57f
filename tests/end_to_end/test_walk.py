"""The main job, walked by a client that knows nothing of Troupe: Mastodon.py as it is on the package index."""

import base64
import hashlib
import queue
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from mastodon import MastodonAPIError, MastodonNotFoundError, MastodonUnauthorizedError, StreamListener

from .. import plain_http
from .apps import App, app_of, registered_app
from .browser import Chrome, Visitor, press, query_of, sign_in
from .server import PASSWORD, Person, Server, follow

SCOPES = ["read", "write", "follow"]
OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"
PATIENCE = 20


@pytest.fixture
def app(server: Server) -> App:
    """A client app that has just registered itself."""
    return registered_app(server.url, SCOPES)


def allowed_code(url: str, person: Person) -> str:
    """The code that a person gets who signs in and allows the app."""
    visitor = Visitor()
    visitor.visit(url)
    visitor.send(username=person.name, password=PASSWORD)
    return query_of(str(visitor.send(decision="allow").url))["code"]


def test_an_app_registers_signs_in_by_the_page_and_knows_who_it_is(server: Server, app: App) -> None:
    (ada,) = server.people("ada")
    url = app.auth_request_url(scopes=SCOPES, allow_http=True)
    token = app.log_in(code=allowed_code(url, ada), scopes=SCOPES, allow_http=True)
    assert token == app.access_token
    assert app.account_verify_credentials().username == ada.name
    assert app.app_verify_credentials().name == "Walker"


def test_the_same_in_chromium_by_typing(server: Server, app: App, chrome: Chrome) -> None:
    (ada,) = server.people("ada")
    chrome.get(app.auth_request_url(scopes=SCOPES, allow_http=True))
    sign_in(chrome, ada.name, PASSWORD)
    press(chrome, "Allow")
    code = query_of(chrome.current_url)["code"]
    app.log_in(code=code, scopes=SCOPES, allow_http=True)
    assert app.account_verify_credentials().username == ada.name


def test_an_app_proves_itself_by_pkce(server: Server, app: App) -> None:
    (ada,) = server.people("ada")
    verifier = "a-verifier-of-forty-three-characters-or-more"
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    url = app.auth_request_url(scopes=SCOPES, allow_http=True)
    url += f"&code_challenge={challenge}&code_challenge_method=S256"
    assert exchanged(app, allowed_code(url, ada)).json()["error"] == "invalid_grant"
    assert exchanged(app, allowed_code(url, ada), code_verifier="x" * 43).json()["error"] == "invalid_grant"
    given = exchanged(app, allowed_code(url, ada), code_verifier=verifier)
    walker = app_of(server.url, given.json()["access_token"])
    assert walker.account_verify_credentials().username == ada.name


def exchanged(app: App, code: str, **proof: str) -> httpx.Response:
    """The answer to a code. (Mastodon.py knows no PKCE.)"""
    client = {"client_id": app.client_id, "client_secret": app.client_secret, "redirect_uri": OUT_OF_BAND}
    form = {"grant_type": "authorization_code", "code": code} | client | proof
    return plain_http.post(f"{app.api_base_url}/oauth/token", data=form)


def test_a_revoked_token_is_worth_nothing(server: Server, app: App) -> None:
    (ada,) = server.people("ada")
    url = app.auth_request_url(scopes=SCOPES, allow_http=True)
    token = app.log_in(code=allowed_code(url, ada), scopes=SCOPES, allow_http=True)
    app.revoke_access_token(allow_http=True)
    with pytest.raises(MastodonUnauthorizedError):
        app_of(server.url, token).account_verify_credentials()


def test_what_one_writes_is_read_by_those_who_follow(server: Server) -> None:
    ada, bob, eve = server.people("ada", "bob", "eve")
    assert bob.app.account_lookup(ada.name).id == ada.id
    relation = bob.app.account_follow(ada.id)
    assert (relation.following, relation.requested) == (True, False)
    made = ada.app.status_post("Hello, #troupe!", spoiler_text="a greeting", language="en")
    assert (made.account.acct, made.spoiler_text, made.language) == (ada.name, "a greeting", "en")
    assert [status.id for status in bob.app.timeline_home()] == [made.id]
    assert [status.id for status in ada.app.timeline_home()] == [made.id]
    assert eve.app.timeline_home() == []
    assert made.id in [status.id for status in eve.app.timeline_public()]
    assert bob.app.account(ada.id).followers_count == 1
    assert not bob.app.account_unfollow(ada.id).following
    assert bob.app.timeline_home() == []


def test_a_conversation_has_ancestors_and_descendants(server: Server) -> None:
    ada, bob = server.people("ada", "bob")
    root = ada.app.status_post("A question")
    answer = bob.app.status_reply(root, "An answer")
    thanks = ada.app.status_reply(answer, "Thanks")
    assert answer.in_reply_to_id == root.id
    assert f"@<span>{ada.name}</span>" in answer.content
    context = bob.app.status_context(answer.id)
    assert [status.id for status in context.ancestors] == [root.id]
    assert [status.id for status in context.descendants] == [thanks.id]
    assert bob.app.status(root.id).replies_count == 1


def test_a_deleted_status_gives_its_text_back_and_is_gone(server: Server) -> None:
    ada, bob = server.people("ada", "bob")
    follow(bob, [ada])
    made = ada.app.status_post("Not like this")
    assert ada.app.status_delete(made).text == "Not like this"
    assert bob.app.timeline_home() == []
    with pytest.raises(MastodonNotFoundError):
        bob.app.status(made.id)


def test_hashtags_are_featured_on_a_profile(server: Server) -> None:
    ada, bob = server.people("ada", "bob")
    ada.app.status_post("Played on the #stage")
    assert [tag.name for tag in ada.app.featured_tag_suggestions()] == ["stage"]
    made = ada.app.featured_tag_create("Stage")
    assert (made.name, made.statuses_count) == ("Stage", "1")
    assert [tag.id for tag in ada.app.featured_tags()] == [made.id]
    assert [tag.name for tag in bob.app.account_featured_tags(ada.id)] == ["Stage"]
    ada.app.featured_tag_delete(made.id)
    assert ada.app.featured_tags() == []
    assert ada.app.tag_feature("troupe").name == "troupe"
    assert [tag.name for tag in ada.app.featured_tags()] == ["troupe"]
    ada.app.tag_unfeature("troupe")
    assert ada.app.featured_tags() == []


def test_statuses_are_scheduled_moved_and_cancelled(server: Server) -> None:
    (ada,) = server.people("ada")
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    made = ada.app.status_post("Later", scheduled_at=at, visibility="unlisted", idempotency_key="once")
    assert (made.scheduled_at, made.params.text, made.params.visibility) == (at, "Later", "unlisted")
    again = ada.app.status_post("Later", scheduled_at=at, visibility="unlisted", idempotency_key="once")
    assert again.id == made.id
    assert [one.id for one in ada.app.scheduled_statuses()] == [made.id]
    moved = ada.app.scheduled_status_update(made, at + timedelta(hours=1))
    assert ada.app.scheduled_status(made.id).scheduled_at == moved.scheduled_at == at + timedelta(hours=1)
    with pytest.raises(MastodonAPIError, match="Scheduled at date must be in the future"):
        ada.app.scheduled_status_update(made, datetime.now(UTC))
    ada.app.scheduled_status_delete(made)
    assert ada.app.scheduled_statuses() == []
    assert ada.app.timeline_home() == []


def test_the_server_says_what_it_is(server: Server) -> None:
    walker = app_of(server.url)
    v1, v2 = walker.instance_v1(), walker.instance_v2()
    assert v1.urls.streaming_api == v2.configuration.urls.streaming == f"ws://localhost:{server.port}"
    assert v1.uri == v2.domain == f"localhost:{server.port}"
    assert walker.retrieve_mastodon_version()
    assert v2.configuration.statuses.max_characters >= 500


def test_pages_lead_through_all_statuses_both_ways(server: Server) -> None:
    ada, bob = server.people("ada", "bob")
    follow(bob, [ada])
    writer, reader = ada.app, bob.app
    written = [writer.status_post(f"Number {number}").id for number in range(45)][::-1]
    pages = [reader.timeline_home(limit=20)]
    while following := reader.fetch_next(pages[-1]):
        pages.append(following)
    assert [len(page) for page in pages] == [20, 20, 5]
    assert [status.id for page in pages for status in page] == written
    back = [pages[-1]]
    while previous := reader.fetch_previous(back[-1]):
        back.append(previous)
    assert [status.id for page in reversed(back) for status in page] == written


# Streaming ----------------------------------------------------------------------------------------------------


class Heard(StreamListener):
    """What a stream has told, in its order."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self._events: queue.Queue[tuple[str, Any]] = queue.Queue()

    def next(self) -> tuple[str, Any]:
        return self._events.get(timeout=PATIENCE)

    def handle_heartbeat(self) -> None:
        """The server greets with one when the stream is open."""
        self.opened.set()

    def on_update(self, status: Any) -> None:
        self._events.put(("update", status.id))

    def on_delete(self, status_id: Any) -> None:
        self._events.put(("delete", str(status_id)))

    def on_notification(self, notification: Any) -> None:
        self._events.put((notification.type, notification.account.username))


def test_a_stream_tells_of_statuses_deletions_and_notifications(server: Server) -> None:
    ada, bob = server.people("ada", "bob")
    follow(bob, [ada])
    heard = Heard()
    assert bob.app.stream_healthy()
    handle = bob.app.stream_user(heard, run_async=True, timeout=PATIENCE)
    assert heard.opened.wait(PATIENCE)
    made = ada.app.status_post("Live")
    assert heard.next() == ("update", made.id)
    ada.app.status_delete(made)
    assert heard.next() == ("delete", made.id)
    ada.app.account_follow(bob.id)
    assert heard.next() == ("follow", ada.name)
    # Its thread waits for the next bytes, and `close` for its thread: the server's end brings both.
    handle.closed = True


def test_a_socket_carries_several_streams(server: Server) -> None:
    ada, bob = server.people("ada", "bob")
    follow(bob, [ada])
    # Clients are not told when a subscription is open. Where both timelines are awake, that is before anything can be
    # posted.
    bob.app.timeline_home()
    bob.app.timeline_local()
    home, local = Heard(), Heard()
    socket = bob.app.stream_open_websocket(timeout=PATIENCE)
    try:
        bob.app.stream_user(home, websocket_handle=socket)
        bob.app.stream_local(local, websocket_handle=socket)
        made = ada.app.status_post("To both")
        assert home.next() == ("update", made.id)
        assert local.next() == ("update", made.id)
    finally:
        socket.close()
