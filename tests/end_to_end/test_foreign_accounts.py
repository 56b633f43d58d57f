"""Commands on accounts of other servers beside a running server, which tells its users at once.

The rows are stored as federation would store them.
"""

from collections.abc import Callable, Iterator

import pytest

from troupe.actors.kernel import SystemClock
from troupe.actors.kernel.clock import NODES, Ids
from troupe.storage.engine.embedded import embedded

from .. import plain_http
from ..supervision.foreign import Rows
from .patience import eventually
from .server import Person, Server

PATIENCE = 30.0


@pytest.fixture
def rows(server: Server) -> Iterator[Rows]:
    with embedded(server.data) as running:
        yield Rows(running.dsn)


def next_id() -> Callable[[], int]:
    return Ids(SystemClock(), NODES - 2).next


def status_of(person: Person, path: str) -> int:
    return plain_http.get(f"{person.url}{path}", headers=person.headers).status_code


def authors(person: Person) -> list[str]:
    """The authors of the posts of the home timeline."""
    answer = plain_http.get(f"{person.url}/api/v1/timelines/home", headers=person.headers)
    return [status["account"]["acct"] for status in answer.json()]


def following(person: Person) -> int:
    answer = plain_http.get(f"{person.url}/api/v1/accounts/verify_credentials", headers=person.headers)
    return answer.json()["following_count"]


def test_a_purged_domain_is_gone_at_once_and_its_rows_soon(server: Server, rows: Rows) -> None:
    (ada,) = server.people("ada")
    make = next_id()
    far = rows.account(make(), "far", "purged.example")
    rows.follow(make(), int(ada.id), far)
    status = rows.status(make(), far)
    assert authors(ada) == ["far@purged.example"]
    assert following(ada) == 1
    done = server.troupe("domains", "purge", "purged.example", "--yes")
    assert done.returncode == 0, done.stderr
    eventually(lambda: status_of(ada, f"/api/v1/statuses/{status}") == 404)
    eventually(lambda: rows.run("SELECT FROM accounts WHERE domain = 'purged.example'") == [])
    assert rows.run("SELECT FROM statuses WHERE id = $1", status) == []
    eventually(lambda: (authors(ada), following(ada)) == ([], 0))
    assert status_of(ada, f"/api/v1/accounts/{far}") == 404


def test_a_merged_account_has_the_posts_and_followers_of_both(server: Server, rows: Rows) -> None:
    (ada,) = server.people("ada")
    make = next_id()
    old, new = (rows.account(make(), name, "merged.example") for name in ("old", "new"))
    rows.follow(make(), int(ada.id), old)
    rows.status(make(), old)
    assert authors(ada) == ["old@merged.example"]
    done = server.troupe("accounts", "merge", "old@merged.example", "new@merged.example", "--yes")
    assert done.returncode == 0, done.stderr
    eventually(lambda: authors(ada) == ["new@merged.example"])
    eventually(lambda: status_of(ada, f"/api/v1/accounts/{old}") == 404)
    later = rows.status(make(), new)
    assert status_of(ada, f"/api/v1/statuses/{later}") == 200
    relation = plain_http.get(f"{ada.url}/api/v1/accounts/relationships?id[]={new}", headers=ada.headers)
    assert (relation.json()[0]["following"], following(ada)) == (True, 1)
