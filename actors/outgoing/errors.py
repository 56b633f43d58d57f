"""The reasons why an outgoing request got no answer.

    OutgoingFailure
    ├── ForbiddenTarget   the URL, or every address of its host, is one that the server never connects to
    ├── Unreachable       the name was not found, nothing listens there, TLS failed, or the connection broke
    ├── TookTooLong       a time limit
    ├── TooLarge          a limit on bytes or on redirects
    └── BadAnswer         what came is no HTTP, or is encoded in a way that was not asked for

Texts name the cause and neither the URL nor what the other server said: both may hold secrets.
"""


class OutgoingFailure(Exception):
    """A request got no answer that can be used."""


class ForbiddenTarget(OutgoingFailure):
    """The server never connects there. Trying again is of no use, unless the host's addresses change."""


class Unreachable(OutgoingFailure):
    """There was no connection, or it broke."""


class TookTooLong(OutgoingFailure):
    """A time limit was reached."""


class AnswerTooLarge(OutgoingFailure):
    """The answer has more bytes, or leads over more redirects, than allowed."""


class BadAnswer(OutgoingFailure):
    """The answer can't be read."""
