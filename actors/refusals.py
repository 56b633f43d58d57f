"""The refusals that many commands answer with."""

from __future__ import annotations

from .kernel import Refused

NOT_FOUND = Refused(404, "Record not found")
NOT_ALLOWED = Refused(403, "This action is not allowed")
OWN_DOMAIN = Refused(422, "Validation failed: Domain is that of this server")
