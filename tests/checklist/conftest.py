"""The checklist's rows are asked of the same server as the tests of the HTTP room."""

from ..http.conftest import *  # noqa: F403  every fixture there is, and those to come
