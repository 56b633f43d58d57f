"""Pages about the running server: the tree, actors, the log, the outbox and dead letters."""

import html
import re
from datetime import UTC, datetime

from troupe.actors.commands.notes import WriteNote
from troupe.http.access.operations import LogRecord, TreePart
from troupe.supervision.log.recent import Operations, RecentRecords

from ...clients import PASSWORD, Stage
from ..settling import Browser
from .members import letter, log, member, world

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=UTC)
NONE: list[str] = []
TREE: TreePart = {
    "name": "troupe",
    "children": [
        {"name": "http", "state": "running", "starts": 1},
        {"name": "media", "state": "stopped", "starts": 3, "queue": {"<b>": 1, "none waiting": False}},
        {"name": "homes", "state": "running", "starts": 1, "troubled": NONE},
        {"name": "disks", "state": "running", "starts": 1, "data": "1 GiB free of 9 GiB", "low": ["data", "media"]},
    ],
}


def supervise(stage: Stage) -> RecentRecords:
    """Give the pages a tree and a log, as supervision does."""
    recent = RecentRecords(most=200)
    object.__setattr__(stage.http_context, "operations", Operations(recent, lambda: TREE))
    return recent


async def test_the_overview_says_what_needs_attention(stage: Stage) -> None:
    await world(stage)
    supervise(stage)
    await stage.sql("INSERT INTO hosts (host, failures, error, created_at) VALUES ('<far>', 3, 'no <b>', now())")
    text = (await (await member(stage, "owner")).get("/admin")).text
    for words in (
        "<strong>1</strong> open report<",
        "<strong>1</strong> parked message<",
        "nearly full",
        "&lt;far&gt;",
    ):
        assert words in text
    assert '<dd class="bad">media</dd>' in text
    assert "<b>" not in text
    moderators = (await (await member(stage, "moderator")).get("/admin")).text
    assert "open report" in moderators
    assert "parked message" not in moderators


async def test_values_are_in_words_and_not_as_python_writes_them(stage: Stage) -> None:
    owner, recent = await member(stage, "owner"), supervise(stage)
    causes, gone = ["PublishStatus#88 at account/1", "FanOut#89 at home/2"], {"actors": 2, "streams": True}
    recent.add(
        NOW, "warning", "turn.slow", {"actor": "home/2", "causes": causes, "held": gone, "ids": (), "late": False}
    )
    record = plain_text((await owner.get("/admin/log?event=turn.slow")).text)
    for words in (
        "causes: PublishStatus#88 at account/1 → FanOut#89 at home/2",
        "held: actors 2, streams yes",
        "late: no",
    ):
        assert words in record
    assert "ids:" not in record
    tree = plain_text((await owner.get("/admin/tree")).text)
    for words in ("low: data, media", "queue: <b> 1, none waiting no"):
        assert words in tree
    assert "troubled" not in tree
    for text in (record, tree):
        assert re.findall(r"""\[\]|\['|\["|\{'|\{"|None|True|False""", text) == []


def plain_text(page: str) -> str:
    """What a person reads of the main part."""
    main = page[page.index("<main") : page.index("</main>")]
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", main).split())).replace(" : ", ": ")


async def test_the_tree_has_every_part(stage: Stage) -> None:
    owner = await member(stage, "owner")
    supervise(stage)
    text = (await owner.get("/admin/tree")).text
    for words in ("http", "started 3 times", '<span class="badge warn">stopped</span>', "1 GiB free of 9 GiB"):
        assert words in text
    assert "<b>" not in text


async def shown(browser: Browser, query: str) -> list[str]:
    text = (await browser.get(f"/admin/log{query}")).text
    return [event for event in ("child.started", "turn.slow", "actor.crashed") if f">{event}</th>" in text]


async def test_the_log_is_filtered_and_a_request_is_followed(stage: Stage) -> None:
    owner, recent = await member(stage, "owner"), supervise(stage)
    recent.add(NOW, "info", "child.started", {"child": "http"})
    recent.add(NOW, "warning", "turn.slow", {"actor": "home/7", "stack": "<i>here</i>", "request_id": "r-1"})
    recent.add(NOW, "error", "actor.crashed", {"actor": "account/7", "error": "<script>", "request_id": "r-2"})
    assert await shown(owner, "") == ["child.started", "turn.slow", "actor.crashed"]
    assert await shown(owner, "?level=warning") == ["turn.slow", "actor.crashed"]
    assert await shown(owner, "?event=turn") == ["turn.slow"]
    assert await shown(owner, "?actor=account/7") == ["actor.crashed"]
    assert await shown(owner, "?request=r-2") == ["actor.crashed"]
    text = (await owner.get("/admin/log")).text
    assert '<a href="/admin/log?request=r-2">Follow this request</a>' in text
    assert "&lt;i&gt;here&lt;/i&gt;" in text
    ada = await stage.person("ada")
    await ada.send("POST", "/api/v1/statuses", {"X-Request-Id": "follow-me"}, form={"status": "Hello"})
    followed = (await owner.get("/admin/log?request=follow-me")).text
    assert "<strong>PublishStatus</strong>" in followed
    assert f"turn at account/{ada.id}" in followed


def test_the_ring_of_records_is_bounded() -> None:
    recent = RecentRecords(most=3)
    for number in range(1, 11):
        recent.add(NOW, "info", "child.started", {"child": str(number)})
    assert [one.number for one in recent.newest()] == [8, 9, 10]
    assert recent.newest()[-1] == LogRecord(10, NOW, "info", "child.started", {"child": "10"})


async def test_actors_are_listed_shown_and_restarted(stage: Stage) -> None:
    owner, ada = await member(stage, "owner"), await stage.person("ada")
    await ada.publish("Hello")
    address = f"account/{ada.id}"
    assert f">{address}</bdi>" in (await owner.get("/admin/actors?kind=account")).text
    page = f"/admin/actor?address={address}"
    assert "Incarnation" in (await owner.get(page)).text
    asked = await owner.send("/admin/actor/restart", page, address=address)
    assert (asked.status, await log(stage)) == (200, [])
    done = await owner.send("/admin/actor/restart", page, address=address, password=PASSWORD)
    assert done.headers["Location"].endswith("done=restart")
    assert await log(stage) == [("owner", "restart_actor", address)]
    refused = await owner.send("/admin/actor/release", page, address="account/103")
    assert refused.status == 422
    assert (await owner.get("/admin/actor?address=nothing/7")).status == 404


async def test_a_dead_letter_is_shown_masked_and_replayed(stage: Stage) -> None:
    owner, ada, bob = await member(stage, "owner"), await stage.person("ada"), await stage.person("bob")
    id = await letter(stage, ada)
    contents = {"target_id": int(bob.id), "comment": "<b>secret</b>"}
    await stage.sql("UPDATE dead_letters SET kind = $1, message = $2", WriteNote.__name__, contents)
    path = f"/admin/dead_letters/{id}"
    text = (await owner.get(path)).text
    assert "[13 characters]" in text
    assert "secret" not in text
    open_text = (await owner.get(f"{path}?texts=true")).text
    assert "secret" in open_text
    assert "<b>secret" not in open_text
    answer = await owner.send(f"{path}/replay", path)
    assert answer.headers["Location"] == "/admin/dead_letters?done=replayed", answer.text
    assert await stage.rows("SELECT comment FROM account_notes") == [["<b>secret</b>"]]
    assert await log(stage) == [("owner", "replay_dead_letter", f"WriteNote to account/{ada.id}")]
    assert (await owner.get(path)).status == 404


async def test_a_dead_letter_that_can_not_be_read_stays_until_it_is_dropped(stage: Stage) -> None:
    owner, ada = await member(stage, "owner"), await stage.person("ada")
    path = f"/admin/dead_letters/{await letter(stage, ada)}"
    await stage.sql("UPDATE dead_letters SET kind = 'OfAnotherVersion'")
    refused = await owner.send(f"{path}/replay", path)
    assert (refused.status, await log(stage)) == (422, [])
    assert (await owner.send(f"{path}/drop", path)).status == 200
    await owner.send(f"{path}/drop", path, password=PASSWORD)
    assert await stage.rows("SELECT id FROM dead_letters") == []
    assert [act for _, act, _ in await log(stage)] == ["drop_dead_letters"]


async def test_effects_are_retried_and_dropped(stage: Stage) -> None:
    owner, path = await member(stage, "owner"), "/admin/outbox"
    for id in (1, 2):
        await stage.sql(
            "INSERT INTO outbox (id, queue, kind, partition_key, payload, due_at, attempts, error, created_at)"
            " VALUES ($1, 'none', 'files', 'x', '{\"text\": \"<b>\"}', now() + interval '1 hour', 3, 'no way', now())",
            id,
        )
    text = (await owner.get(path)).text
    assert "no way" in text
    assert "[3 characters]" in text
    await owner.send(f"{path}/retry", path, **{"ids[]": "1"})
    assert await stage.rows("SELECT id FROM outbox WHERE due_at <= now() AND queue = 'none'") == [[1]]
    assert (await owner.send(f"{path}/drop", path, **{"ids[]": "2"})).status == 200
    answer = await owner.send(f"{path}/drop", path, **{"ids[]": "2", "password": PASSWORD})
    assert answer.headers["Location"] == f"{path}?done=dropped"
    assert await stage.rows("SELECT id FROM outbox WHERE queue = 'none'") == [[1]]
    assert [act for _, act, _ in await log(stage)] == ["retry_effects", "drop_effects"]
