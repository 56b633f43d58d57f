"""Reading the file of an import: every line is checked before the first account is made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from ...actors.rules.mailboxes import spelled
from ...actors.rules.passwords import hashed_quickly
from ...storage.engine.json_values import JsonObject
from .finding import InvalidAccount
from .making import RequestedAccount, check_account

FIELDS = {"username", "email", "password", "role"}


def read_accounts(lines: Iterable[bytes], progress: Callable[[int], None]) -> list[RequestedAccount]:
    """Return the accounts of a file, with hashed passwords. Raises InvalidAccount for the first line that is wrong.

    `progress` is told of each line.
    """
    entries = [(number, _parsed(number, line)) for number, line in enumerate(lines, 1) if line.strip()]
    _refuse_repeats(entries)
    hashes = _hash_all([entry.get("password") for _, entry in entries], progress)
    return [_wanted(*entry, password_hash) for entry, password_hash in zip(entries, hashes, strict=True)]


def _parsed(number: int, line: bytes) -> JsonObject:
    try:
        entry: object = json.loads(line)
        if not isinstance(entry, dict):
            raise InvalidAccount("it is not a JSON object")
        _check(cast("JsonObject", entry))  # keys of JSON are texts
    except (ValueError, RecursionError):
        raise InvalidAccount(f"line {number}: it is not JSON") from None
    except InvalidAccount as unfit:
        raise InvalidAccount(f"line {number}: {unfit}") from None
    return cast("JsonObject", entry)  # keys of JSON are texts


def _check(entry: JsonObject) -> None:
    if unknown := entry.keys() - FIELDS:
        raise InvalidAccount(f"there is no field {min(unknown)}")
    if not isinstance(entry.get("password", ""), str | None):
        raise InvalidAccount("the password is not a text")
    check_account(entry.get("username"), entry.get("email"), entry.get("role") or "user")


def _refuse_repeats(entries: Sequence[tuple[int, JsonObject]]) -> None:
    first: dict[tuple[str, str], int] = {}
    for number, entry in entries:
        for field, value in (("username", entry["username"].lower()), ("email", spelled(entry["email"]).lower())):
            earlier = first.setdefault((field, value), number)
            if earlier != number:
                raise InvalidAccount(f"line {number}: the {field} {entry[field]} stands in line {earlier} too")


def _hash_all(passwords: Iterable[str | None], progress: Callable[[int], None]) -> list[str | None]:
    """Return a hash for each entry, computed on all cores."""
    hashes: list[str | None] = []
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        try:
            for one in threads.map(_hash, passwords):
                hashes.append(one)
                progress(1)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    return hashes


def _hash(password: str | None) -> str | None:
    return hashed_quickly(password) if password else None


def _wanted(number: int, entry: JsonObject, password_hash: str | None) -> RequestedAccount:
    return RequestedAccount(
        username=entry["username"],
        email=entry["email"],
        password_hash=password_hash,
        role=entry.get("role") or "user",
        where=f"line {number}: ",
    )
