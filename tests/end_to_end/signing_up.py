"""A server that people may sign up at, with a mail server that is one."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..data_folders import copy_data
from ..mail.mailserver import HOST, MailServer
from .conftest import made
from .server import Server


@contextmanager
def signing_up(post: MailServer, prepared: Path, **settings: str) -> Generator[Server]:
    """A running server with these settings, on a copy of the prepared data. Its mails go to `post`."""
    with made() as one:
        copy_data(prepared, one.data)
        one.settings |= settings | mailing_to(post) | {"TROUPE_TITLE": "The Stage"}
        one.start()
        yield one
        assert one.stop() == 0, one.log


def mailing_to(post: MailServer) -> dict[str, str]:
    """The settings by which a server sends its mails there."""
    return {"TROUPE_SMTP_HOST": HOST, "TROUPE_SMTP_PORT": str(post.port), "TROUPE_SMTP_TLS": "none"}
