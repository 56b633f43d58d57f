"""All that reads a text of somebody else, with the largest text that is let in to it."""

from __future__ import annotations

from .edge_targets import EDGE
from .fuzz import Target
from .text_targets import TEXTS

TARGETS: tuple[Target, ...] = (*TEXTS, *EDGE)
