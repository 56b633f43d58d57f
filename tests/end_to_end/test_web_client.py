"""A client app in a browser, on an origin of its own: requests, uploads and streams as Chromium sends them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from .browser import Chrome, clear
from .patience import eventually
from .server import Person, Server, free_port

POSTS = 12

# Its page: `api` asks the server, `told` has the updates of each stream.
APP = """<!doctype html><title>An app</title><script>
const told = {events: [], socket: [], errors: 0}
let server, token
function begin(url, bearer) {
  [server, token] = [url, bearer]
  const events = new EventSource(`${server}/api/v1/streaming/user?access_token=${token}`)
  events.addEventListener('update', event => told.events.push(JSON.parse(event.data).content))
  events.addEventListener('error', () => { told.errors += 1 })
  const socket = new WebSocket(`${server.replace('http', 'ws')}/api/v1/streaming?stream=user`, token)
  socket.onmessage = frame => {
    const {event, payload} = JSON.parse(frame.data)
    if (event == 'update') told.socket.push(JSON.parse(payload).content)
  }
  return new Promise(done => { events.onopen = () => socket.readyState == 1 ? done() : socket.onopen = () => done() })
}
async function api(method, path, body, headers = {}) {
  const answer = await fetch(server + path, {method, body, headers: {Authorization: `Bearer ${token}`, ...headers}})
  return [answer.status, answer.headers.get('link'), await answer.json()]
}
const JSON_TYPE = {'Content-Type': 'application/json'}
const post = text => api('POST', '/api/v1/statuses', JSON.stringify({status: text}), JSON_TYPE)
async function everything(count) {
  const numbers = [...Array(count).keys()]
  const posted = await Promise.all(numbers.flatMap(number => [
    post(`json ${number}`),
    api('POST', '/api/v1/statuses', new URLSearchParams({status: `form ${number}`})),
    api('GET', '/api/v1/accounts/verify_credentials'),
    api('GET', '/api/v2/instance'),
    api('GET', '/api/v1/timelines/home?limit=1')]))
  const canvas = new OffscreenCanvas(40, 30)
  canvas.getContext('2d').fillRect(0, 0, 20, 20)
  const form = new FormData()
  form.append('file', await canvas.convertToBlob(), 'a picture.png')
  form.append('description', 'half of it is black')
  const media = await api('POST', '/api/v2/media', form)
  const home = await api('GET', '/api/v1/timelines/home?limit=40')
  const removed = await api('DELETE', `/api/v1/statuses/${home[2][0].id}`)
  return {statuses: posted.map(one => one[0]), media, home, removed, wrong: await api('GET', '/api/v1/statuses/1')}
}
</script>"""
ORDER = "const done = arguments[arguments.length - 1]; ({}).then(done, error => done(`${{error}}`))"


class AppPage(BaseHTTPRequestHandler):
    """Serves the app, whatever is asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(APP.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def app(chrome: Chrome) -> Iterator[Chrome]:
    """A browser that shows the app."""
    with ThreadingHTTPServer(("127.0.0.1", free_port()), AppPage) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        chrome.get(f"http://127.0.0.1:{page.server_port}/")
        yield chrome
        clear(chrome)
        page.shutdown()


def do(app: Chrome, script: str, *given: object) -> Any:
    """Run a promise in the page. Return what it becomes, or the text of its error."""
    return app.execute_async_script(ORDER.format(script), *given)


def shown(app: Chrome) -> dict[str, Any]:
    return app.execute_script("return told")


def test_an_app_in_a_browser_does_all_at_once_and_resumes_its_stream(own_server: Server, app: Chrome) -> None:
    own_server.start()
    ada, bob = own_server.people("ada", "bob")
    ada.app.account_follow(bob.id)
    assert do(app, "begin(arguments[0], arguments[1])", own_server.url, ada.token) is None
    done = do(app, "everything(arguments[0])", POSTS)
    assert done["statuses"] == [200] * 5 * POSTS
    assert (done["media"][0], done["media"][2]["description"]) == (200, "half of it is black")
    assert done["media"][2]["meta"]["original"]["size"] == "40x30"
    texts = {f"<p>{form} {number}</p>" for form in ("json", "form") for number in range(POSTS)}
    status, link, home = done["home"]
    assert (status, {one["content"] for one in home}) == (200, texts)
    assert link.count("/api/v1/timelines/home?") == 2
    assert done["removed"][2]["id"] == home[0]["id"]
    assert done["wrong"][::2] == [404, {"error": "Record not found"}]
    for stream in ("events", "socket"):
        eventually(lambda stream=stream: len(shown(app)[stream]) >= len(texts))
        assert sorted(shown(app)[stream]) == sorted(texts)
    resumes(own_server, app, bob)


def resumes(server: Server, app: Chrome, author: Person) -> None:
    """The browser comes back by itself after the server was killed, and is shown what it missed, once."""
    before = shown(app)["events"]
    server.kill()
    server.start()
    for number in range(POSTS):
        author.app.status_post(f"missed {number}")
    missed = [f"<p>missed {number}</p>" for number in range(POSTS)]
    eventually(lambda: len(shown(app)["events"]) >= len(before) + POSTS)
    assert shown(app)["events"] == [*before, *missed]
    assert shown(app)["errors"] >= 1, json.dumps(shown(app))
    assert server.stop() == 0, server.log
