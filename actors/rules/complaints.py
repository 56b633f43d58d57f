"""What is wrong with a form: everything at once, in words for people and in codes for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..kernel.errors import Refused

# How sentences name an attribute, where that is not its own name.
LABELS = {"email": "E-mail address"}


class Complaint(NamedTuple):
    """What is wrong with an attribute, in the API's words and by its code."""

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
    """422 with all that is wrong."""
    details: dict[str, list[dict[str, str]]] = {}
    sentences: list[str] = []
    for complaint in complaints:
        sentences.append(complaint.sentence)
        told = {"error": complaint.code, "description": complaint.text}
        details.setdefault(complaint.attribute, []).append(told)
    return Refused(422, f"Validation failed: {', '.join(sentences)}", details)
