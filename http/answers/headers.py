"""The headers that many answers share: caching, CORS, and the protection of web pages."""

from __future__ import annotations

from dataclasses import replace

from .answer import Answer, Headers, SharedHeaders

EXPOSED = "Link, X-RateLimit-Reset, X-RateLimit-Limit, X-RateLimit-Remaining, X-Request-Id, Mastodon-Async-Refresh"
# A browser caches a preflight for a day: the rules change with releases only.
PREFLIGHT_AGE = "86400"

# Paths whose answers are the same for everybody and need no cookie: files, which web clients of other origins store,
# and the documents, feeds and pages of accounts, statuses, hashtags and emoji, which they read.
PUBLIC = (
    "/media/", "/media_proxy/", "/avatars/", "/headers/", "/emojis/", "/@", "/users/", "/tags/", "/actor",
    "/manifest.json",
)  # fmt: skip
NOT_PUBLIC = ("/inbox", ".atom")  # inboxes are for servers alone, and the feeds of OStatus are gone
CORS_METHODS = {
    "/api/": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
    "/oauth/token": "POST, OPTIONS",
    "/oauth/revoke": "POST, OPTIONS",
    "/oauth/userinfo": "GET, POST, OPTIONS",
    "/.well-known/": "GET, OPTIONS",
    "/nodeinfo/": "GET, OPTIONS",
    **dict.fromkeys(PUBLIC, "GET, HEAD, OPTIONS"),
}
WITH_CORS = tuple(CORS_METHODS)

# Answers of the API are personal. No cache on the way may store them.
NOSNIFF = ("X-Content-Type-Options", "nosniff")
REST: Headers = (("Cache-Control", "private, no-store"), ("Vary", "Authorization"), NOSNIFF)
CORS: Headers = (("Access-Control-Allow-Origin", "*"), ("Access-Control-Expose-Headers", EXPOSED))
REST_WITH_CORS: Headers = REST + CORS
PAGE: Headers = (
    ("Cache-Control", "private, no-store"),
    ("X-Frame-Options", "DENY"),
    NOSNIFF,
    ("Referrer-Policy", "no-referrer"),
)

OF_API, OF_PAGES = SharedHeaders(REST_WITH_CORS), SharedHeaders(PAGE)
OF_PUBLIC = SharedHeaders(PAGE + CORS)  # not personal: the same for each Authorization

# Sources of frame-ancestors, the sites that may show a page in a frame.
ANY_SITE, NO_SITE = "*", "'none'"
FRAMED = f"frame-ancestors {ANY_SITE};"


def varied(answer: Answer, name: str) -> Answer:
    """Return an answer that depends on a header of the request, so that no cache shows it to others."""
    named = [one for header, value in answer.headers if header == "Vary" for one in value.split(", ")]
    others = tuple((header, value) for header, value in answer.headers if header != "Vary")
    return replace(answer, headers=(*others, ("Vary", ", ".join(dict.fromkeys([*named, name])))))


def cors_methods(path: str) -> str | None:
    """Return the methods that other origins may use on a path; None if they may use none."""
    if path.endswith(NOT_PUBLIC):
        return None
    return next((methods for prefix, methods in CORS_METHODS.items() if path.startswith(prefix)), None)


def family(path: str, own: Headers = ()) -> SharedHeaders:
    """Return the headers of every answer on a path, without those that the answer sets itself.

    A page whose own policy lets other sites frame it gets no X-Frame-Options, which knows no such permission.
    """
    shared = _shared(path)
    if not own:
        return shared
    named = {name for name, _ in own}
    if any(FRAMED in value for _, value in own):
        named.add("X-Frame-Options")
    return shared.without(frozenset(named & shared.names))


def _shared(path: str) -> SharedHeaders:
    if path.startswith(PUBLIC):
        return OF_PAGES if path.endswith(NOT_PUBLIC) else OF_PUBLIC
    return OF_API if path.startswith(WITH_CORS) else OF_PAGES


def preflight(methods: str, wanted_headers: str | None) -> Headers:
    """Return the headers that answer a preflight. They are named, because `*` does not cover Authorization."""
    return (
        ("Access-Control-Allow-Methods", methods),
        ("Access-Control-Allow-Headers", wanted_headers or "Authorization, Content-Type, Idempotency-Key"),
        ("Access-Control-Max-Age", PREFLIGHT_AGE),
    )


def page_policy(form_targets: str = "", *, framed: bool = False, live: bool = False) -> Headers:
    """Return the content security policy of a web page, which other sites may show in a frame only if it is `framed`.

    A `live` page may run scripts of this server, which may ask this server for events. No page has a script of its own.

    Browsers apply `form-action` to the redirect after a form too. So a page with a form that leads to an app names the
    app's scheme or origin.
    """
    scripts = "script-src 'self'; connect-src 'self'; " if live else ""
    policy = (
        f"default-src 'none'; {scripts}style-src 'self'; img-src 'self'; media-src 'self'; manifest-src 'self'; "
        f"base-uri 'none'; frame-ancestors {ANY_SITE if framed else NO_SITE}; form-action 'self' {form_targets}"
    )
    return (("Content-Security-Policy", policy.rstrip()),)
