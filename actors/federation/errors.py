"""The reasons why a document of another server, or a copy of its file, is not there.

FetchFailed
├── DocumentMissing          its server refuses it, or its host must not be asked
│   ├── HostNotAllowed       its host is blocked, inside a network, or this server's own
│   ├── TooManyDiscoveries   too many new accounts of its domain came lately
│   ├── DocumentUnknown      its server answers 404
│   └── DocumentGone         its server answers 410: it was deleted
├── UntrustedDocument        it proves nothing: of another host, another kind, or malformed
└── DocumentUnavailable      its server can't be asked just now: 5xx, 429
    └── ServerUnreachable    its server can't be reached, or is too slow
"""


class FetchFailed(Exception):
    """There is no document that can be used."""


class DocumentMissing(FetchFailed):
    """Raised if there is no such document, as far as its server says, or if its host is blocked."""


class HostNotAllowed(DocumentMissing):
    """Raised if the host of a document must not be asked."""


class TooManyDiscoveries(DocumentMissing):
    """Raised if an account is not stored because there were too many new ones of its domain."""


class DocumentUnknown(DocumentMissing):
    """Raised if the server of a document does not know it. Of what is not for everybody, servers say the same."""


class DocumentGone(DocumentMissing):
    """Raised if the document was deleted."""


class UntrustedDocument(FetchFailed):
    """Raised for a document that does not prove to be what was asked for."""


class DocumentUnavailable(FetchFailed):
    """Raised if the server of a document can't be asked now. Another try may find it."""


class ServerUnreachable(DocumentUnavailable):
    """Raised if a server can't be reached, so that its other documents can't be fetched either."""


class CopiedAlready(Exception):
    """Raised in the block of an upload so that its files are removed: another server has made the same copy."""
