"""Every answer of the tests against the schemas that the server publishes."""

from functools import cache, lru_cache

import orjson
from jsonschema_rs import Draft202012Validator

from troupe.http.openapi.schemas import Schema, entities, schema_of
from troupe.http.router import all_paths

FAMILY = ("/api/", "/oauth/token", "/oauth/revoke", "/oauth/userinfo")


def check(method: str, url: str, status: int, content_type: str, body: bytes) -> None:
    """That a JSON answer is what its endpoint promises, and an error an error."""
    path = url.partition("?")[0]
    if method in ("HEAD", "OPTIONS") or not path.startswith(FAMILY) or not content_type.startswith("application/json"):
        return
    notation = "Error" if status >= 400 else promised(method, path.rstrip("/"))
    if notation is None:
        return
    answer, schema = orjson.loads(body), validator(notation)
    if not schema.is_valid(answer):  # to look for errors takes several times as long
        complaints = [f"{where(error.instance_path)}: {error.message}" for error in schema.iter_errors(answer)]
        raise AssertionError(f"{method} {path} is no {notation}: {complaints}")


def where(path: list[str | int]) -> str:
    return ".".join(map(str, path)) or "it"


@cache
def validator(notation: str) -> Draft202012Validator:
    schema: Schema = {"components": {"schemas": entities()}, **schema_of(notation)}
    return Draft202012Validator(schema)


@lru_cache(1000)
def promised(method: str, path: str) -> str | None:
    """The type of the answer that the endpoint of a path declares."""
    found = all_paths().find(method, path)
    return None if found is None else found[0].returns
