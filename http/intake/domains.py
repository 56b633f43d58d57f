"""Domains as clients send them."""

from __future__ import annotations

from ...actors.rules.identity import pasted_domain
from ..answers.errors import invalid
from .input import Input
from .parameters import Text


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
