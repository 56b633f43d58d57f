"""The errors of a form, all at once: in words for people and in codes for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..kernel.errors import Refused

# The name of an attribute in sentences, if it differs from its own name.
LABELS = {"email": "E-mail address"}


class Complaint(NamedTuple):
    """An error in an attribute, in the API's words and by its code."""

    attribute: str
    code: str
    text: str

    @property
    def sentence(self) -> str:
        label = LABELS.get(self.attribute) or self.attribute.capitalize().replace("_", " ")
        return f"{label} {self.text}"


def too_long(attribute: str, most: int) -> Complaint:
    return Complaint(attribute, "ERR_TOO_LONG", f"is too long (maximum is {most} characters)")


def refusal(complaints: Iterable[Complaint]) -> Refused:
    """Return the 422 with all errors."""
    details: dict[str, list[dict[str, str]]] = {}
    sentences: list[str] = []
    for complaint in complaints:
        sentences.append(complaint.sentence)
        shown = {"error": complaint.code, "description": complaint.text}
        details.setdefault(complaint.attribute, []).append(shown)
    return Refused(422, f"Validation failed: {', '.join(sentences)}", details)
