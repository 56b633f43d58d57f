"""The docstring of the tree names all children, in order, and which nodes of a cluster do the work of each."""

import re
from pathlib import Path

import pytest

from troupe.actors.configuration import Settings
from troupe.actors.effects.registry import MAIN_QUEUE
from troupe.actors.kernel import SystemClock
from troupe.supervision import tree
from troupe.supervision.log.log import SupervisionLog, as_json
from troupe.supervision.tree import Troupe

ROOT = Path(tree.__file__).parents[1]

#: A child, the word for the nodes that do its work, and the beginning of its description.
CHILD = re.compile(r"^[├└]── (\w+) +(\w+) +\S", re.MULTILINE)
#: Children that only some settings start, and the files that name them.
STARTING = (Path(tree.__file__), ROOT / "supervision" / "children" / "cluster.py")
OPTIONAL = re.compile(r'Child\("(\w+)"')

#: The files of the work that only the leader does, by child.
LED = {"actors/housekeeping/expiry.py": "expiry", "actors/housekeeping/old_rows.py": "old_rows",
       "actors/media/cleaning.py": "media"}  # fmt: skip
#: Work that is done from time to time on rows: a task for one node.
SWEEPS = re.compile(r"\b(sweep_until\(stopping|sleep\(EVERY\))")


@pytest.fixture
def troupe(tmp_path: Path) -> Troupe:
    return Troupe(Settings(data=tmp_path), "", SupervisionLog(lambda line: None, SystemClock(), as_json))


def described() -> dict[str, str]:
    return dict(CHILD.findall(tree.__doc__ or ""))


def test_each_child_is_described_in_the_order_of_the_start(troupe: Troupe) -> None:
    started = [child.name for child in troupe.supervisor.children]
    assert [name for name in described() if name in started] == started
    optional = {name for file in STARTING for name in OPTIONAL.findall(file.read_text("utf-8"))}
    assert set(described()) == {*started, *optional}
    assert set(described().values()) == {"node", "shard", "claim", "leader"}


def test_the_queues_of_the_outbox_are_divided_by_claims_and_the_main_queue_by_shards(troupe: Troupe) -> None:
    divided = {relay.queue.name: "claim" for relay in troupe.actors.outbox.relays} | {MAIN_QUEUE.name: "shard"}
    assert divided == {name: how for name, how in described().items() if how in ("claim", "shard")}


def test_work_that_is_done_from_time_to_time_is_done_by_the_leader() -> None:
    files = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in (ROOT / "actors").rglob("*.py")}
    assert {path for path, source in files.items() if SWEEPS.search(source)} == set(LED)
    asking = {path for path, source in files.items() if "_others.is_leader" in source}
    assert asking == set(LED), "the child of this file needs the word `leader` in the docstring of the tree"
    assert sorted(LED.values()) == sorted(name for name, how in described().items() if how == "leader")
