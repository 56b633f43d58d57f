"""The reasons why a document of another server, or a copy of its file, is missing.

FetchFailed
├── DocumentMissing          it can't be fetched, for a reason below or another
│   ├── HostNotAllowed       its host is blocked or inside a network
│   │   └── LeadsHere        its host is this server's own
│   ├── TooManyDiscoveries   too many new accounts of its domain were found lately
│   ├── DocumentUnknown      its server answers 404
│   ├── DocumentGone         its server answers 410, or with a Tombstone: it was deleted
│   └── DocumentRefused      its server refuses it with another status, such as 403
├── UntrustedDocument        it proves nothing: of another host, of another kind, or as below
│   └── UnreadableDocument   the answer is no document: a page, cut off, or too large
└── DocumentUnavailable      its server gives no answer now: 5xx, 429
    └── ServerUnreachable    its server can't be reached, is too slow, or speaks no HTTP
"""


class FetchFailed(Exception):
    """Raised if there is no usable document."""


class DocumentMissing(FetchFailed):
    """Raised if the server of a document says that it does not exist, or if its host is blocked."""


class HostNotAllowed(DocumentMissing):
    """Raised if no request may be sent to the host of a document."""


class LeadsHere(HostNotAllowed):
    """Raised if a redirect or a page leads to an address of this server. No request is sent there."""

    def __init__(self, address: str) -> None:
        super().__init__("the address is one of this server")
        self.address = address


class TooManyDiscoveries(DocumentMissing):
    """Raised if an account is not stored because there were too many new accounts of its domain."""


class DocumentUnknown(DocumentMissing):
    """Raised if the server of a document does not know it. Servers give the same answer for private posts."""


class DocumentGone(DocumentMissing):
    """Raised if the document was deleted."""


class DocumentRefused(DocumentMissing):
    """Raised if the server of a document refuses it to this server, by the status of its answer."""


class UntrustedDocument(FetchFailed):
    """Raised for a document that is not proven to be the requested document."""


class UnreadableDocument(UntrustedDocument):
    """Raised for an answer that is no document, such as the maintenance page of a server."""


class DocumentUnavailable(FetchFailed):
    """Raised if the server of a document gives no answer now. A retry may succeed."""


class ServerUnreachable(DocumentUnavailable):
    """Raised if a server can't be reached, so that its other documents can't be fetched either."""


class CopiedAlready(Exception):
    """Raised in the block of an upload so that its files are removed: another process has made the copy already."""
