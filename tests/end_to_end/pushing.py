"""A push service for a real server: plain HTTP on localhost, in threads. It also serves the page of a web app."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 30  # seconds, for what comes within one

PAGE = b"<!doctype html><title>app</title><main>app</main>"

# Makes keys, decrypts what it is given as RFC 8291 says, and shows what a push event brings.
WORKER = b"""
let keys, auth;
const text = new TextEncoder();
const join = (...parts) => new Uint8Array(parts.flatMap(part => [...part]));
const derive = async (secret, salt, info, length) => {
  const key = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits']);
  const how = {name: 'HKDF', hash: 'SHA-256', salt, info};
  return new Uint8Array(await crypto.subtle.deriveBits(how, key, length * 8));
};
const raw = async key => new Uint8Array(await crypto.subtle.exportKey('raw', key));
const subscribe = async () => {
  keys = await crypto.subtle.generateKey({name: 'ECDH', namedCurve: 'P-256'}, false, ['deriveBits']);
  auth = crypto.getRandomValues(new Uint8Array(16));
  return {p256dh: [...await raw(keys.publicKey)], auth: [...auth]};
};
const decrypt = async bytes => {
  const body = new Uint8Array(bytes), salt = body.slice(0, 16), length = body[20];
  const sender = body.slice(21, 21 + length), encrypted = body.slice(21 + length);
  const other = await crypto.subtle.importKey('raw', sender, {name: 'ECDH', namedCurve: 'P-256'}, false, []);
  const shared = new Uint8Array(await crypto.subtle.deriveBits({name: 'ECDH', public: other}, keys.privateKey, 256));
  const info = join(text.encode('WebPush: info\\0'), await raw(keys.publicKey), sender);
  const secret = await derive(shared, auth, info, 32);
  const bits = await derive(secret, salt, text.encode('Content-Encoding: aes128gcm\\0'), 16);
  const nonce = await derive(secret, salt, text.encode('Content-Encoding: nonce\\0'), 12);
  const key = await crypto.subtle.importKey('raw', bits, 'AES-GCM', false, ['decrypt']);
  const padded = new Uint8Array(await crypto.subtle.decrypt({name: 'AES-GCM', iv: nonce}, key, encrypted));
  return new TextDecoder().decode(padded.slice(0, padded.lastIndexOf(2)));
};
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', event => event.waitUntil(self.clients.claim()));
self.addEventListener('message', event => {
  const [what, given] = event.data;
  const done = what === 'subscribe' ? subscribe() : decrypt(given);
  const reply = result => event.ports[0].postMessage(result);
  event.waitUntil(done.then(reply, error => reply(`${error}`)));
});
self.addEventListener('push', event => {
  const told = event.data.json();
  event.waitUntil(self.clients.matchAll().then(pages => pages.forEach(page => page.postMessage(told))));
});
"""


@dataclass
class Mailbox:
    """What came to the paths below `/push/`, as headers and body."""

    port: int = 0
    arrived: dict[str, list[tuple[dict[str, str], bytes]]] = field(
        default_factory=dict[str, list[tuple[dict[str, str], bytes]]]
    )
    _news: threading.Condition = field(default_factory=threading.Condition)

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.port}"

    def put(self, path: str, headers: dict[str, str], body: bytes) -> None:
        with self._news:
            self.arrived.setdefault(path, []).append((headers, body))
            self._news.notify_all()

    def receive(self, path: str, count: int = 1) -> tuple[dict[str, str], bytes]:
        """The newest of so many messages."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.arrived.get(path, ())) >= count, PATIENCE), f"nothing at {path}"
            return self.arrived[path][-1]


@contextmanager
def mailbox() -> Generator[Mailbox]:
    box = Mailbox()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = ("text/javascript", WORKER) if self.path == "/worker.js" else ("text/html", PAGE)
            self._reply(200, kind, body)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            box.put(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            self._reply(201, "text/plain", b"")

        def _reply(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("localhost", 0), Handler)
    box.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield box
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
