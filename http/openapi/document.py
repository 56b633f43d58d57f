"""The OpenAPI document of this server: made from the registered endpoints, their input, and `entities.txt`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from ... import __version__
from ...actors.rules import scopes
from ..intake.parameters import Input
from ..router import SEGMENT, Endpoint
from .schemas import Schema, entities, schema_of

JSON = "application/json"
# All of these types can have the parameters.
BODIES = (JSON, "application/x-www-form-urlencoded", "multipart/form-data")
WITH_BODY = ("POST", "PUT", "PATCH")
SCHEMAS = "#/components/schemas/"
ERROR = {"$ref": "#/components/responses/Error"}
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def document(endpoints: Iterable[Endpoint], base_url: str) -> Schema:
    """Return the OpenAPI 3.1 document. It leaves out pages, pictures, and paths that are always 404."""
    paths: dict[str, Schema] = {}
    schemas = dict(entities())
    for endpoint in endpoints:
        if endpoint.returns is not None:
            path = SEGMENT.sub(r"{\1}", endpoint.path)
            paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, endpoint.returns, schemas)
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {"title": "Troupe", "version": __version__},
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Error": {"description": "What went wrong.", "content": {JSON: {"schema": schema_of("Error")}}}
            },
            "securitySchemes": {"OAuth": _oauth(base_url)},
        },
    }


def _operation(endpoint: Endpoint, notation: str, schemas: dict[str, Schema]) -> Schema:
    operation: Schema = {
        "operationId": _name(endpoint),
        "tags": [endpoint.function.__module__.rpartition(".")[2]],
        "parameters": _segments(endpoint),
        "responses": _responses(endpoint, notation),
        "security": _security(endpoint),
    }
    if endpoint.function.__doc__:
        operation["summary"] = endpoint.function.__doc__.strip().splitlines()[0]
    if endpoint.input is not None:
        name = _input(endpoint.input, schemas)
        if endpoint.method in WITH_BODY:
            operation["requestBody"] = _body(name, schemas[name])
        else:
            operation["parameters"] += _query(schemas[name])
    return operation


def _name(endpoint: Endpoint) -> str:
    words = re.findall(r"[\w.]+", SEGMENT.sub("one", endpoint.path))
    return "_".join((endpoint.method.lower(), *words))


# Inputs -------------------------------------------------------------------------------------------------------


class _Lenient(GenerateJsonSchema):
    """Schemas of the documented values. Other accepted spellings are left out."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> Schema:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        """Return the schema without the default, which JSON may not be able to represent."""
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: object) -> bool:
        """Return False, because a title would repeat the parameter's name."""
        return False


def _input(model: type[Input], schemas: dict[str, Schema]) -> str:
    """Add an input's schema to `schemas`. Return its name, which has the module as a prefix to be unique."""
    prefix = model.__module__.rpartition(".")[2]
    made = model.model_json_schema(schema_generator=_Lenient, ref_template=f"{SCHEMAS}{prefix}.{{model}}")
    for name, inner in made.pop("$defs", {}).items():
        schemas[f"{prefix}.{name}"] = inner
    schemas[f"{prefix}.{model.__name__}"] = made
    return f"{prefix}.{model.__name__}"


def _segments(endpoint: Endpoint) -> list[Schema]:
    taken = inspect.signature(endpoint.function, eval_str=True).parameters
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": schema_of("id" if taken[name].annotation is int else "string"),
        }
        for name in SEGMENT.findall(endpoint.path)
    ]


def _body(name: str, taken: Schema) -> Schema:
    schema = {"$ref": SCHEMAS + name}
    return {"required": "required" in taken, "content": {kind: {"schema": schema} for kind in BODIES}}


def _query(taken: Schema) -> list[Schema]:
    return [
        {
            "name": f"{name}[]" if schema.get("type") == "array" else name,
            "in": "query",
            "required": name in taken.get("required", ()),
            "schema": schema,
        }
        | ({"style": "deepObject"} if schema.get("type") == "object" else {})
        for name, schema in taken.get("properties", {}).items()
    ]


# Responses ----------------------------------------------------------------------------------------------------


def _responses(endpoint: Endpoint, notation: str) -> Schema:
    kind = "text/plain" if notation == "text" else JSON
    return {
        "200": {"description": "Done.", "content": {kind: {"schema": schema_of(notation)}}},
        **{str(status): ERROR for status in _statuses(endpoint)},
        "default": ERROR,
    }


def _statuses(endpoint: Endpoint) -> Iterable[int]:
    """Yield the error statuses that follow from the declaration of the endpoint."""
    if endpoint.auth != "none" or endpoint.wants_viewer:
        yield from (401, 403)
    if "<" in endpoint.path:
        yield 404
    if endpoint.input is not None:
        yield from (400, 413, 422)
    yield from (429, 503)


# Security -----------------------------------------------------------------------------------------------------


def _security(endpoint: Endpoint) -> list[Schema]:
    """Return the alternatives of access. An empty object means a request without a token."""
    anonymous: list[Schema] = [{}] if endpoint.auth == "none" else []
    if endpoint.auth == "none" and not endpoint.wants_viewer:
        return anonymous
    return [*anonymous, *([{"OAuth": [scope]} for scope in endpoint.scopes] or [{"OAuth": []}])]


def _oauth(base_url: str) -> Schema:
    words = {scope: scopes.in_words(scope) for scope in sorted(scopes.ALL)}
    token = f"{base_url}/oauth/token"
    return {
        "type": "oauth2",
        "flows": {
            "authorizationCode": {
                "authorizationUrl": f"{base_url}/oauth/authorize",
                "tokenUrl": token,
                "scopes": words,
            },
            "clientCredentials": {"tokenUrl": token, "scopes": words},
        },
    }
