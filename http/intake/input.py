"""The base class of what an endpoint takes, and the errors for parameters that are missing or wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from ...actors.rules.identity import pasted_domain
from ..answers.errors import HttpError, invalid, missing
from .decoding import Upload
from .parameters import Text


class Input(BaseModel):
    """The base of an endpoint's parameters. Unknown parameters are ignored, wrong ones are refused."""

    # Each is built with its first request: all 160 would take an eighth of a start, and 2 MiB.
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    @classmethod
    def read(cls, parameters: Mapping[str, object]) -> Self:
        """Return the checked input. Raises 400 if a parameter is missing and 422 if one is wrong."""
        try:
            return cls.model_validate(parameters)
        except ValidationError as error:
            raise _refusal(error) from None

    def files(self) -> list[Upload]:
        """The files that were sent."""
        return [value for _, value in self if isinstance(value, Upload)]


def _refusal(error: ValidationError) -> HttpError:
    found = error.errors(include_url=False)
    for one in found:
        if one["type"] in ("missing", "blank"):
            return missing(str(one["loc"][-1]))
    return invalid(*(f"{attribute(one['loc'])} {_message(one)}" for one in found))


def attribute(path: Sequence[int | str]) -> str:
    """Return a parameter's name as error messages write it: `in_reply_to_id` is "In reply to"."""
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    words = name.removesuffix("_id").replace("_", " ")
    return words[:1].upper() + words[1:]


def _message(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "invalid":
            return "is invalid"
        case "literal_error" | "enum":
            return "is not included in the list"
        case "string_too_long":
            return f"is too long (maximum is {context['max_length']} characters)"
        case "string_too_short":
            return f"is too short (minimum is {context['min_length']} characters)"
        case "too_long":
            # Also of texts, where the type of the field reads them with a function of ours.
            unit = "characters" if isinstance(error["input"], str) else "items"
            return f"is too long (maximum is {context['max_length']} {unit})"
        case "value_error":
            return str(context["error"])
        case _:
            return "is invalid"


class Domain(Input):
    """The parameter of endpoints that take a domain."""

    domain: Text = ""

    def name(self) -> str:
        """The domain as it is stored."""
        if not self.domain.strip():
            raise invalid("Domain can't be blank")
        name = pasted_domain(self.domain)
        if name is None:
            raise invalid("Domain is not a valid domain name")
        return name
