"""The Web Push key: one for each database, the same for all its processes; the file of an earlier version moves in."""

import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from troupe.actors.memory.push_key import PushKey, UnusablePushKey, written_point
from troupe.storage.engine.database import Connection
from troupe.storage.engine.pool import ConnectionPool, open_pool
from troupe.supervision.failures import explained

P = ParamSpec("P")
T = TypeVar("T")


async def public_key(dsn: str, file: Path | None = None) -> str:
    """Return the public key of a process that starts on this database."""
    key = PushKey(file)
    async with open_pool(dsn, size=1) as pool:
        await key.load(pool)
    return key.public


def write_key(file: Path, curve: ec.EllipticCurve) -> str:
    """Write a key file as earlier versions did; return the public key that clients had."""
    key = ec.generate_private_key(curve)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return base64.urlsafe_b64encode(point).decode().rstrip("=")


class Overtaken:
    """A database in which another process stores its key as soon as this one has read that there is none."""

    def __init__(self, pool: ConnectionPool, other: PushKey) -> None:
        self._pool = pool
        self._other = other

    async def read(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        found = await self._pool.read(work, *args, **kwargs)
        await self._other.load(self._pool)
        return found

    async def transact(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._pool.transact(work, *args, **kwargs)

    async def transact_in(
        self, shard: int, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._pool.transact_in(shard, work, *args, **kwargs)

    def entering(self, shard: int) -> tuple[int, int]:
        return self._pool.entering(shard)

    async def transact_alone(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._pool.transact_alone(work, *args, **kwargs)

    async def transact_checked(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._pool.transact_checked(work, *args, **kwargs)


def test_the_public_half_is_read_from_any_way_to_write_a_key() -> None:
    """Without the library for keys, if this server has written it."""
    for number in range(20):
        made = ec.generate_private_key(ec.SECP256R1())
        point = made.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        formats = (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL)
        pems = [made.private_bytes(Encoding.PEM, one, NoEncryption()).decode() for one in formats]
        assert [written_point(pem) for pem in pems] == [point, None], number
        for pem in pems:
            key = PushKey()
            key.hold(pem)
            assert key.public == base64.urlsafe_b64encode(point).decode().rstrip("=")
            assert key.private.private_numbers() == made.private_numbers()


async def test_the_key_stays_when_the_server_starts_again(dsn: str) -> None:
    assert await public_key(dsn) == await public_key(dsn)


async def test_two_servers_that_start_at_once_have_the_same_key(dsn: str) -> None:
    first, second = PushKey(), PushKey()
    async with open_pool(dsn, size=1) as pool:
        await second.load(Overtaken(pool, first))
    assert first.public == second.public != ""


async def test_the_key_of_an_earlier_version_moves_into_the_database(dsn: str, tmp_path: Path) -> None:
    """Subscriptions that apps have made with it stay valid, on this machine and on others."""
    file = tmp_path / "vapid.pem"
    known = write_key(file, ec.SECP256R1())
    assert await public_key(dsn, file) == known
    assert not file.exists()
    assert await public_key(dsn, file) == known
    assert await public_key(dsn) == known


async def test_a_file_that_a_crash_left_after_the_key_was_stored_is_removed(dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "vapid.pem"
    known = write_key(file, ec.SECP256R1())
    content = file.read_bytes()
    await public_key(dsn, file)
    file.write_bytes(content)
    assert await public_key(dsn, file) == known
    assert not file.exists()


async def test_the_file_of_another_machine_changes_nothing(dsn: str, tmp_path: Path) -> None:
    """Its key may be the one that subscriptions are bound to: it is left for the operator."""
    stored, file = await public_key(dsn), tmp_path / "vapid.pem"
    write_key(file, ec.SECP256R1())
    assert await public_key(dsn, file) == stored
    assert file.exists()


@pytest.mark.parametrize("broken", ["", "no key", "ключ", None])
async def test_a_file_without_a_usable_key_is_refused_in_one_line(dsn: str, tmp_path: Path, broken: str | None) -> None:
    file = tmp_path / "vapid.pem"
    if broken is None:
        write_key(file, ec.SECP384R1())
    else:
        file.write_text(broken, "utf-8")
    with pytest.raises(UnusablePushKey) as refused:
        await public_key(dsn, file)
    failure = explained(refused.value)
    assert failure is not None
    assert f"{file} holds no key" in failure.message
    assert file.exists()
