"""The reasons why a document of another server, or a copy of its file, is not there.

FetchFailed
├── DocumentMissing          it can't be had, for one of these reasons or another
│   ├── HostNotAllowed       its host is blocked or inside a network
│   │   └── LeadsHere        its host is this server's own
│   ├── TooManyDiscoveries   too many new accounts of its domain came lately
│   ├── DocumentUnknown      its server answers 404
│   ├── DocumentGone         its server answers 410, or with a Tombstone: it was deleted
│   └── DocumentRefused      its server refuses it with another status, such as 403
├── UntrustedDocument        it proves nothing: of another host, of another kind, or this:
│   └── UnreadableDocument   the answer is no document: a page, a part of one, or too large
└── DocumentUnavailable      its server can't be asked just now: 5xx, 429
    └── ServerUnreachable    its server can't be reached, is too slow, or speaks no HTTP
"""


class FetchFailed(Exception):
    """There is no document that can be used."""


class DocumentMissing(FetchFailed):
    """Raised if there is no such document, as far as its server says, or if its host is blocked."""


class HostNotAllowed(DocumentMissing):
    """Raised if the host of a document must not be asked."""


class LeadsHere(HostNotAllowed):
    """Raised if a redirect or a page leads to an address of this server, which it does not request."""

    def __init__(self, address: str) -> None:
        super().__init__("the address is one of this server")
        self.address = address


class TooManyDiscoveries(DocumentMissing):
    """Raised if an account is not stored because there were too many new ones of its domain."""


class DocumentUnknown(DocumentMissing):
    """Raised if the server of a document does not know it. Of what is not for everybody, servers say the same."""


class DocumentGone(DocumentMissing):
    """Raised if the document was deleted."""


class DocumentRefused(DocumentMissing):
    """Raised if the server of a document does not show it to this server, as far as its status says."""


class UntrustedDocument(FetchFailed):
    """Raised for a document that does not prove to be what was asked for."""


class UnreadableDocument(UntrustedDocument):
    """Raised for an answer that is no document, such as the page by which a server says that it is being repaired."""


class DocumentUnavailable(FetchFailed):
    """Raised if the server of a document can't be asked now. Another try may find it."""


class ServerUnreachable(DocumentUnavailable):
    """Raised if a server can't be reached, so that its other documents can't be fetched either."""


class CopiedAlready(Exception):
    """Raised in the block of an upload so that its files are removed: another server has made the same copy."""
