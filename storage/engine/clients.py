"""PostgreSQL's client programs: pg_dump, pg_restore and psql on a database.

They are the wheel's, for an external PostgreSQL too. The wheel's know no TLS, and pg_dump reads no server that is newer
than itself: for these, the operator names the directory of others. They run in a process group of their own, so that
Ctrl-C reaches the command alone, which ends them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from . import programs
from .cluster import reason
from .database import Connection

#: Bytes that are passed on at once.
PIECE = 1024 * 1024

SERVER_MAJOR = "SELECT current_setting('server_version_num')::integer / 10000"

# psql and pg_dump of the wheel say this if the server or the URL asks for TLS.
NO_TLS = ("SSL support is not compiled in", "no encryption")


class ClientFailed(Exception):
    """Raised when a client program of PostgreSQL failed, or is too old for the server."""


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """The address of a database for client programs. The password is in the environment, where no user reads it."""

    url: str
    environment: Mapping[str, str]

    @classmethod
    def of(cls, dsn: str, *, own: bool) -> DatabaseAddress:
        """Return the address of a database. With `own`, of the embedded one, without libpq's variables."""
        parts = urlsplit(dsn)
        account, at, host = parts.netloc.rpartition("@")
        user, _, password = account.partition(":")
        query = parse_qsl(parts.query, keep_blank_values=True)
        password = next((value for name, value in query if name == "password"), unquote(password))
        rest = urlencode([pair for pair in query if pair[0] != "password"], quote_via=quote, safe="/")
        variables = {name: value for name, value in os.environ.items() if not (own and name.startswith("PG"))}
        if password:
            variables["PGPASSWORD"] = password
        # Not by `urlunsplit`, which leaves `//` out before a path when no host is named.
        return cls(f"{parts.scheme}://{user}{at}{host}{parts.path}{'?' if rest else ''}{rest}", variables)


@dataclass(frozen=True, slots=True)
class ClientPrograms:
    """The client programs of a directory, for a database."""

    folder: Path
    address: DatabaseAddress

    def psql(self, *arguments: str) -> list[str]:
        """Return the command of psql on the database."""
        return [str(self.folder / "psql"), "-d", self.address.url, *arguments]

    def write(self) -> RunningPsql:
        """Start a psql that runs the statements written to it, and fails at the first error."""
        return RunningPsql(self.psql("-X", "-q", "-v", "ON_ERROR_STOP=1"), self.address.environment)

    @contextmanager
    def dump(self, *arguments: str) -> Generator[IO[bytes]]:
        """Read a dump of the database without owners and rights. Raises ClientFailed at the end if it is not whole."""
        command = [str(self.folder / "pg_dump"), "--no-owner", "--no-privileges", "-d", self.address.url, *arguments]
        with reading(command, self.address.environment) as output:
            yield output

    @contextmanager
    def read_dump(self, file: Path) -> Generator[IO[bytes]]:
        """Read the statements of a dump in a file. Raises ClientFailed at the end if it can't be read."""
        command = [str(self.folder / "pg_restore"), "--no-owner", "--no-privileges", "-f", "-", str(file)]
        with reading(command, self.address.environment) as output:
            yield output


class RunningPsql:
    """A running psql."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed by `end` and `kill`
        self._process = subprocess.Popen(  # noqa: S603 - a program of PostgreSQL, no shell
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._errors, env=environment,
            process_group=0,
        )  # fmt: skip
        self._input = cast("IO[bytes]", self._process.stdin)  # a pipe

    def put(self, piece: bytes) -> None:
        """Write a part of the statements. Raises ClientFailed if psql has ended."""
        try:
            self._input.write(piece)
        except BrokenPipeError:
            self._process.wait()
            raise ClientFailed(_failure("psql", self._errors, self._process.returncode)) from None

    def end(self) -> None:
        """Wait until everything is run. Raises ClientFailed for an error."""
        with suppress(BrokenPipeError):  # its exit code says why
            self._input.close()
        code = self._process.wait()
        if code:
            raise ClientFailed(_failure("psql", self._errors, code))
        self._errors.close()

    def kill(self) -> None:
        """End it at once. An open transaction is rolled back."""
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._input.close()
        self._errors.close()


async def choose(db: Connection, dsn: str, *, own: bool, named: Path | None = None) -> ClientPrograms:
    """Return the client programs for a database, from the directory `named` or else from the wheel.

    Raises ClientFailed if the server is newer than the programs.
    """
    folder = named or programs.find()
    server, client = await db.fetchval(SERVER_MAJOR), programs.major_of(folder / "pg_dump")
    if server > client:
        raise ClientFailed(
            f"the server is PostgreSQL {server}, and pg_dump in {folder} is of {client}, which reads no newer server:"
            f" install the client programs of PostgreSQL {server} and name their directory with --programs"
        )
    return ClientPrograms(folder, DatabaseAddress.of(dsn, own=own))


@contextmanager
def reading(command: Sequence[str], environment: Mapping[str, str]) -> Generator[IO[bytes]]:
    """Read the output of a program. Raises ClientFailed at the end if the program failed."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen(  # noqa: S603 - a program of PostgreSQL, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=environment,
            process_group=0,
        )  # fmt: skip
        output = cast("IO[bytes]", process.stdout)  # a pipe
        try:
            yield output
        except BaseException:
            process.kill()
            raise
        finally:
            output.close()
            code = process.wait()
        if code:
            raise ClientFailed(_failure(Path(command[0]).name, errors, code))


def pieces(stream: IO[bytes]) -> Generator[bytes]:
    """Yield the output of a program in pieces."""
    while piece := stream.read(PIECE):
        yield piece


def _failure(name: str, errors: IO[str], code: int) -> str:
    """Return the text of an error: the cause that the program wrote, else its exit code or signal."""
    errors.seek(0)
    output = errors.read()
    cause = reason(output) if output.strip() else (f"signal {-code} ended it" if code < 0 else f"exit code {code}")
    if any(words in output for words in NO_TLS):
        cause += "; PostgreSQL's programs in the wheel know no TLS: name the directory of others with --programs"
    return f"{name} failed: {cause}"
