"""The registry of endpoints, and the table of their paths.

An endpoint is a function and the data that `dispatch` needs to call it:

    @api.get("/api/v1/statuses/<id>", returns="Status", scopes=("read:statuses",))
    async def show(context: HttpContext, viewer: Viewer | None, id: int) -> Answer: ...

A function receives the parameters that it names: `context: HttpContext`, `request: Request`, `token: Token`,
`viewer: Viewer`, one parameter of an `Input` type, and the segments of its path (`int` for ids).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import NoneType
from typing import Literal, TypedDict, Unpack, get_args

from ..actors.rules.roles import Permission
from ..storage.oauth import Token
from .access.authentication import Viewer, is_closable
from .access.context import HttpContext
from .access.rates import RateRule, RateStatus
from .answers.answer import Answer
from .answers.errors import NotFound
from .intake.decoding import nest, read_urlencoded
from .intake.negotiation import asks_for_document
from .intake.parameters import Input, is_id
from .intake.request import LARGEST_BODY, Request

Auth = Literal["none", "app", "user"]
Documents = Literal["none", "too", "only"]
Function = Callable[..., Answer | Awaitable[Answer]]
Admit = Callable[[HttpContext, Request], Awaitable[object]]

FOLDERS = ("admin", "api", "federation", "oauth", "settings", "staff", "web")
SEGMENT = re.compile(r"<(\w+)>")
# Endpoints below these paths answer without the web framework. For each request Quart makes a context, a request, a
# response and a nursery. That costs several times as much as most answers of the API, or as the work of an inbox.
API = "/api/"
INBOX = "/inbox"
LONGEST_REMEMBERED = 100  # bytes; the inputs of shorter query strings are cached
UNSTORABLE = re.compile("[\\0\ud800-\udfff]")


@dataclass(slots=True)
class EndpointCall:
    """One request on its way to an endpoint's function."""

    context: HttpContext
    request: Request
    path: dict[str, str]
    token: Token | None = None
    viewer: Viewer | None = None
    input: Input | None = None
    rate_status: RateStatus | None = None


# A parameter's name, and the function that takes its value from a request.
Argument = tuple[str, Callable[[EndpointCall], object]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method on one path: the access rules, the input, and the function that answers."""

    method: str
    path: str
    function: Function
    auth: Auth
    scopes: tuple[str, ...]
    permission: Permission | None
    rates: tuple[RateRule, ...]
    file_rates: tuple[RateRule, ...]
    body_limit: int
    page: bool
    waiting: bool
    documents: Documents
    admit: Admit | None
    without_memory: bool
    returns: str | None
    closable: bool
    framework: bool  # True if Quart calls it
    input: type[Input] | None
    wants_token: bool
    wants_viewer: bool
    arguments: tuple[Argument, ...]

    async def read(self, call: EndpointCall) -> None:
        """Read the input from the request."""
        if self.input is None:
            return
        request = call.request
        if self.page or request.has_body or len(request.query_string) > LONGEST_REMEMBERED:
            call.input = self.input.read(await request.parameters(self.body_limit))
        else:
            call.input = _input_of(self.input, request.query_string)

    def shows_document(self, request: Request) -> bool:
        """True if the answer is a document of ActivityPub. Its readers sign their requests, and have no token."""
        return self.documents == "only" or (self.documents == "too" and asks_for_document(request))

    async def answer(self, call: EndpointCall) -> Answer:
        """Call the function with the values that it names."""
        given = self.function(**{name: get(call) for name, get in self.arguments})
        return given if isinstance(given, Answer) else await given


# Clients send few different queries. Inputs are frozen, so that requests can share them. Pages are left out: the links
# of mails have secrets in their queries.
@lru_cache(maxsize=4096)
def _input_of(kind: type[Input], query: bytes) -> Input:
    """Return the input of a request without a body. Raises the errors of `Input.read`."""
    return kind.read(nest(read_urlencoded(query)) if query else {})


class Declaration(TypedDict, total=False):
    """The options of an endpoint that several may share. `Router.route` explains them."""

    auth: Auth
    scopes: tuple[str, ...]
    permission: Permission
    rates: tuple[RateRule, ...]
    file_rates: tuple[RateRule, ...]
    body_limit: int
    page: bool
    waiting: bool
    documents: Documents
    admit: Admit
    without_memory: bool


@dataclass(slots=True)
class Router:
    """The endpoints, in the order in which they were declared."""

    endpoints: list[Endpoint] = field(default_factory=list[Endpoint])

    def route(
        self,
        *methods: str,
        path: str,
        auth: Auth = "none",
        scopes: tuple[str, ...] = (),
        permission: Permission | None = None,
        rates: tuple[RateRule, ...] = (),
        file_rates: tuple[RateRule, ...] = (),
        body_limit: int = LARGEST_BODY,
        page: bool = False,
        waiting: bool = False,
        documents: Documents = "none",
        admit: Admit | None = None,
        without_memory: bool = False,
        returns: str | None = None,
    ) -> Callable[[Function], Function]:
        """Declare the decorated function as the endpoint of these methods.

        `permission` is what the user's role must allow (`actors/rules/roles.py`); with several, one of them is enough.
        A `page` is for browsers: errors become pages too. With `waiting`, users may call it who are not confirmed or
        approved yet. With `documents`, it answers other servers with documents of ActivityPub, instead of a page if
        they ask for them (`too`) or in any case (`only`). `rates` count each request, before its body is read;
        `file_rates` count each file of a request. `admit` is called before the input is read: it raises an error for
        users who may not call the endpoint, so that they learn nothing about its parameters. With `without_memory`, it
        answers also while this node of a cluster may have missed changes: the answer must depend on code,
        configuration and files alone.

        `returns` is the type of the JSON of a successful answer, in the notation of `openapi/entities.txt`; `{}` is the
        object without members. The OpenAPI document leaves out endpoints without it: pages, pictures, removed paths.
        """

        def declare(function: Function) -> Function:
            signature = _signature_of(function, path)
            for method in methods:
                closable = auth == "none" and is_closable(method, path)
                if without_memory and (closable or auth != "none" or signature.token or signature.viewer):
                    raise TypeError(f"{function.__qualname__} depends on tokens, which are cached in memory")
                framework = not path.startswith(API) and not path.endswith(INBOX)
                self.endpoints.append(
                    Endpoint(
                        method, path, function, auth, scopes, permission, rates, file_rates, body_limit, page, waiting,
                        documents, admit, without_memory, returns, closable, framework, signature.input,
                        signature.token, signature.viewer, tuple(signature.arguments),
                    )
                )  # fmt: skip
            return function

        return declare

    def get(self, path: str, returns: str | None = None, **how: Unpack[Declaration]) -> Callable[[Function], Function]:
        return self.route("GET", path=path, returns=returns, **how)

    def post(self, path: str, returns: str | None = None, **how: Unpack[Declaration]) -> Callable[[Function], Function]:
        return self.route("POST", path=path, returns=returns, **how)

    def put(self, path: str, returns: str | None = None, **how: Unpack[Declaration]) -> Callable[[Function], Function]:
        """An update: clients send PUT or PATCH for the same thing."""
        return self.route("PUT", "PATCH", path=path, returns=returns, **how)

    def delete(
        self, path: str, returns: str | None = None, **how: Unpack[Declaration]
    ) -> Callable[[Function], Function]:
        return self.route("DELETE", path=path, returns=returns, **how)


api = Router()


@dataclass(slots=True)
class _Signature:
    """The parameters in a function's signature."""

    arguments: list[Argument] = field(default_factory=list[Argument])
    input: type[Input] | None = None
    token: bool = False
    viewer: bool = False


def _signature_of(function: Function, path: str) -> _Signature:
    signature = _Signature()
    segments = set(SEGMENT.findall(path))
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind = _without_none(parameter.annotation)
        signature.arguments.append((name, _getter(signature, function, name, kind, segments)))
    if segments:
        raise TypeError(f"{function.__qualname__} does not take {segments} of {path}")
    return signature


def _getter(
    signature: _Signature, function: Function, name: str, kind: object, segments: set[str]
) -> Callable[[EndpointCall], object]:
    if name in segments:
        segments.discard(name)
        read = path_id if kind is int else path_text
        return lambda call: read(call.path[name])
    if isinstance(kind, type) and issubclass(kind, Input):
        signature.input = kind
        return lambda call: call.input
    if kind is Viewer:
        signature.viewer = True
        return lambda call: call.viewer
    if kind is Token:
        signature.token = True
        return lambda call: call.token
    if kind is HttpContext:
        return lambda call: call.context
    if kind is Request:
        return lambda call: call.request
    raise TypeError(f"{function.__qualname__} asks for {name}: {kind}, which no request has")


def _without_none(annotation: object) -> object:
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    return kinds[0] if len(kinds) == 1 and NoneType in get_args(annotation) else annotation


def path_id(segment: str) -> int:
    """Return an id in a path. Raises NotFound for a text that cannot be an id, as for an unknown id."""
    if not is_id(segment):
        raise NotFound
    return int(segment)


def path_text(segment: str) -> str:
    """Return a name in a path. Raises NotFound for a text that PostgreSQL could not store."""
    if UNSTORABLE.search(segment):
        raise NotFound
    return segment


@cache
def all_endpoints() -> tuple[Endpoint, ...]:
    """Import every module with endpoints and return all endpoints, in the order of the modules' names.

    Every module in `FOLDERS` is imported: there is no list of modules. The order does not depend on earlier imports.
    """
    for folder in FOLDERS:
        package = import_module(f".{folder}", __package__)
        for module in iter_modules(package.__path__):
            import_module(f".{module.name}", package.__name__)
    return tuple(sorted(api.endpoints, key=lambda endpoint: endpoint.function.__module__))


# An endpoint, and the values of its path's parameters.
Match = tuple[Endpoint, dict[str, str]]
# The endpoints of one path by their methods, and the values of its parameters, in order.
End = tuple[dict[str, Endpoint], tuple[str, ...]]


@dataclass(slots=True, eq=False)
class _PathNode:
    """A node of the prefix tree: the segments that may follow, and the endpoints whose paths end here."""

    words: dict[str, _PathNode] = field(default_factory=dict[str, "_PathNode"])
    # Parameters with text before and behind, as in `@<name>.rss`. The parameter with the most text comes first.
    affixed: list[tuple[str, str, _PathNode]] = field(default_factory=list[tuple[str, str, "_PathNode"]])
    parameter: _PathNode | None = None  # a parameter that is a whole segment
    ends: dict[str, Endpoint] = field(default_factory=dict[str, Endpoint])


class PathTable:
    """Endpoints by method and path.

    Where a word and a parameter both fit, the word wins. A slash at the end is ignored, as in the reference server:
    some clients (Mastodon.py) ask for `/api/v1/instance/`. A HEAD finds the endpoint of GET.
    """

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._root = _PathNode()
        self._fixed: dict[tuple[str, str], Endpoint] = {}  # endpoints whose paths have no parameters
        self._names: dict[str, list[str]] = {}
        for endpoint in endpoints:
            self._add(endpoint)
            self._names[endpoint.path] = SEGMENT.findall(endpoint.path)

    def find(self, method: str, path: str) -> Match | None:
        """Return the endpoint and the values of its path's parameters."""
        if (fixed := self._fixed.get((method, path))) is not None:
            return fixed, {}
        parts, method = path.split("/"), "GET" if method == "HEAD" else method
        end = _walk_straight(self._root, parts)
        if end is None or method not in end[0]:
            end = next((end for end in _walk(self._root, parts, 0, ()) if method in end[0]), None)
        if end is None:
            return None
        endpoint, values = end[0][method], end[1]
        return endpoint, dict(zip(self._names[endpoint.path], values, strict=True))

    def methods_of(self, path: str) -> list[str]:
        """Return the methods of all endpoints with a path, in the order of their names; none for an unknown path."""
        found = {method for ends, _ in _walk(self._root, path.split("/"), 0, ()) for method in ends}
        return sorted(found | {"HEAD"}) if "GET" in found else sorted(found)

    def _add(self, endpoint: Endpoint) -> None:
        if not SEGMENT.search(endpoint.path):
            for method in ("GET", "HEAD") if endpoint.method == "GET" else (endpoint.method,):
                self._fixed[method, endpoint.path] = endpoint
        node = self._root
        for part in endpoint.path.split("/"):
            node = _following(node, part)
        if endpoint.method in node.ends:
            raise ValueError(f"{endpoint.method} {endpoint.path} is declared twice")
        node.ends[endpoint.method] = endpoint


def _following(node: _PathNode, part: str) -> _PathNode:
    """Return the node behind a segment of a declared path; a new node if there is none yet."""
    if (parameter := SEGMENT.search(part)) is None:
        return node.words.setdefault(part, _PathNode())
    before, behind = part[: parameter.start()], part[parameter.end() :]
    if not before and not behind:
        node.parameter = node.parameter or _PathNode()
        return node.parameter
    for *texts, there in node.affixed:
        if texts == [before, behind]:
            return there
    new = _PathNode()
    node.affixed.append((before, behind, new))
    node.affixed.sort(key=lambda entry: len(entry[0]) + len(entry[1]), reverse=True)
    return new


def _walk_straight(root: _PathNode, parts: Sequence[str]) -> End | None:
    """Return the first end that `_walk` yields, at half its cost; None if a segment allows a choice, which is rare."""
    node, values = root, list[str]()
    for part in parts:
        following = node.words.get(part)
        if following is None:
            following = node.parameter
            if following is None or not part or (node.affixed and any(_affixed(node, part))):
                return None
            values.append(part)
        node = following
    return node.ends, tuple(values)


def _walk(node: _PathNode, parts: Sequence[str], at: int, values: tuple[str, ...]) -> Iterator[End]:
    """Yield the ends that match a path: words before parameters, parameters with more text before others."""
    if at == len(parts):
        yield node.ends, values
        return
    part = parts[at]
    if (word := node.words.get(part)) is not None:
        yield from _walk(word, parts, at + 1, values)
    for value, following in _affixed(node, part):
        yield from _walk(following, parts, at + 1, (*values, value))
    if part and node.parameter is not None:
        yield from _walk(node.parameter, parts, at + 1, (*values, part))
    if not part and at == len(parts) - 1:
        yield node.ends, values


def _affixed(node: _PathNode, part: str) -> Iterator[tuple[str, _PathNode]]:
    """Yield the values that a segment has for parameters with text around them, and the nodes behind these."""
    for before, behind, following in node.affixed:
        if len(part) > len(before) + len(behind) and part.startswith(before) and part.endswith(behind):
            yield part[len(before) : len(part) - len(behind)], following


@cache
def all_paths() -> PathTable:
    """Return the table of all endpoints, which all servers of a process share."""
    return PathTable(all_endpoints())
