"""The checklist's rows are asked of the same server as the tests of the HTTP room."""

from ..http.conftest import ada, bob, options, stage

__all__ = ["ada", "bob", "options", "stage"]
