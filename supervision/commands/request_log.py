"""The records of one request in a file with the supervision log, of either form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from ...storage.engine.json_values import JsonObject

# In the form for people.
NAMED = re.compile(r"\brequest_ids?=(\S+)")


def records_of(lines: Iterable[str], request_id: str) -> Iterator[JsonObject]:
    """Yield the records that name a request. One in the form for people is `{"line": …}`.

    A record that stands for several names their requests together. Other programs may have written before the JSON of a
    line, as the journal does.
    """
    for line in lines:
        if request_id not in line:
            continue
        record = _read(line)
        if record is None:
            if any(request_id in found[1].split("→") for found in NAMED.finditer(line)):
                yield {"line": line.rstrip("\n")}
        elif request_id == record.get("request_id") or request_id in record.get("request_ids", ()):
            yield record


def _read(line: str) -> JsonObject | None:
    start = line.find("{")
    if start < 0:
        return None
    try:
        record: JsonObject = json.loads(line[start:])
    except ValueError:
        return None
    return record if "event" in record else None
