"""The checklist's rows are asked of the same server as the tests of the HTTP room."""

from ..http.conftest import (
    ada,
    bob,
    connections,
    fast_path,
    media_store,
    options,
    other_nodes,
    stage,
    store_options,
    without_probe,
)

__all__ = [
    "ada",
    "bob",
    "connections",
    "fast_path",
    "media_store",
    "options",
    "other_nodes",
    "stage",
    "store_options",
    "without_probe",
]
