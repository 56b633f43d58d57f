"""Each kind of viewer sees what the visibility tables say, on every surface that shows a status or an account."""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal

import orjson
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.account import ViewerPart
from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.account_deletions import DeleteAccount
from troupe.actors.effects.registry import KINDS
from troupe.actors.kernel import Event, Origin
from troupe.http.openapi.schemas import Schema, entities, schema_of
from troupe.http.router import Endpoint, all_endpoints
from troupe.http.streaming.channels import CHANNELS, StreamQuery, by_name
from troupe.http.streaming.frames import NO_VIEWER, WebSocketFrames
from troupe.http.streaming.session import StreamSession
from troupe.storage.moderation import State

from ..accept import shape
from ..clients import Person, Reply, Stage
from . import moderating
from .matrix import VISIBILITIES, Viewer, World, marker, read, world_of
from .stored import rows
from .visibility_tables import (
    ABOUT_ACCOUNTS,
    ACTS,
    BELOW,
    BY_ID,
    CHANGES,
    DOING,
    ELSEWHERE,
    KEPT,
    LIVE,
    NAMING,
    NETWORK,
    NETWORK_OF_SILENCED,
    NETWORK_OF_SUSPENDED,
    OF_ADA,
    OF_THE_VIEWER,
    PAGES,
    PARTS,
    REQUESTS,
    SILENCED,
    STREAMS,
    SUSPENDED,
    TABLE,
    TAGGED,
    TIMELINES,
    TRENDS,
    WEB,
    WEB_BY_ID,
)

MISSING = {"error": "Record not found"}
NO_PARENT = {"error": "The post you are trying to reply to does not appear to exist."}

Complaints = list[str]


# -- requests


async def ask_by_id(viewer: Viewer) -> Complaints:
    wrong: Complaints = []
    for line in lines(BY_ID):
        column, method, template = line.split()
        for letter in VISIBILITIES:
            path = viewer.fill(template, letter)
            if path is None:
                continue
            answer = await viewer.client.send(method, path)
            wanted = 200 if letter in viewer.row.cell(column) else 404
            if not answered(viewer, answer, wanted):
                wrong.append(f"{viewer.row.who}, {letter}: {method} {template} is {answer.status}, not {wanted}")
    return wrong


def answered(viewer: Viewer, answer: Reply, wanted: int) -> bool:
    """As wanted; what is hidden is missing, word for word. Where a token is needed, nobody sees anything."""
    if viewer.is_anonymous and answer.status == 401:
        return answer.json == {"error": "The access token is invalid"}
    return answer.status == wanted and (wanted != 404 or answer.json in (MISSING, NO_PARENT))


async def ask_pages(viewer: Viewer, table: str) -> Complaints:
    wrong: Complaints = []
    for line in lines(table):
        method, template, *wanted = line.split()
        # Where the path has an id of each visibility, the answer is of that one alone.
        for among in (
            VISIBILITIES if re.search("<(leaf|letter|revised|quoting)>", template) else ("".join(VISIBILITIES),)
        ):
            path = viewer.fill(template, among[0])
            answer = await viewer.client.send(method, path) if path is not None else None
            if answer is not None and not (viewer.is_anonymous and answer.status == 401):
                wrong += [
                    f"{viewer.row.who}: {method} {template} {one}" for one in misshown(viewer, answer, among, wanted)
                ]
    return wrong


def misshown(viewer: Viewer, answer: Reply, among: str, wanted: list[str]) -> Iterator[str]:
    for pair in wanted:
        kind, column = pair.split(":")
        seen = "".join(one for one in among if marker(viewer.author, kind, one) in answer.text)
        due = "".join(one for one in viewer.row.cell(column) if one in among)
        if seen != due:
            yield f"shows {kind} {seen or '-'}, not {due or '-'}"


async def look_at_pages(world: World) -> Complaints:
    """What the pages and feeds show, which is what the anonymous may see."""
    (viewer,) = (one for one in world.viewers if one.is_anonymous)
    wrong = await ask_pages(viewer, WEB)
    hidden = 410 if (await viewer.client.get("/@ada")).status == 410 else 404
    for line in lines(WEB_BY_ID):
        column, method, template = line.split()
        for letter in VISIBILITIES:
            if (path := viewer.fill(template, letter)) is not None:
                status = (await viewer.client.send(method, path)).status
                seen = letter in viewer.row.cell(column)
                if status not in ((200, 302) if seen else (404, hidden)):
                    wrong.append(f"{letter}: {method} {template} is {status}, {'seen' if seen else 'hidden'}")
    return wrong


async def act(viewer: Viewer, *, allowed: bool) -> Complaints:
    """Do everything that a viewer may, or everything that they may not."""
    wrong: Complaints = []
    for line in lines(ACTS):
        column, refusal, method, template, *body = line.split(maxsplit=4)
        seen = viewer.row.cell("boost" if "<boost>" in template else "sees")
        for letter in VISIBILITIES:
            path = viewer.fill(template, letter)
            may = letter in seen and letter in viewer.row.cell(column)
            if path is None or may != allowed:
                continue
            wanted = 200 if may else refused(viewer, refusal) if letter in seen else 404
            json: Any = orjson.loads(viewer.fill(body[0], letter) or "") if body else {}
            answer = await viewer.client.send(method, path, json=json)
            if not answered(viewer, answer, wanted):
                wrong.append(f"{viewer.row.who}, {letter}: {method} {template} is {answer.status}, not {wanted}")
    return wrong


def refused(viewer: Viewer, refusal: str) -> int:
    return int(refusal.split("/")[-1 if viewer.row.who == "author" else 0])


async def all_of(
    viewers: Iterable[Viewer], ask: Callable[..., Awaitable[Complaints]], *more: Any, **how: Any
) -> Complaints:
    return [complaint for viewer in viewers for complaint in await ask(viewer, *more, **how)]


def lines(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


def none(wrong: Complaints) -> bool:
    assert not wrong, "\n".join(("", *wrong))
    return True


async def test_each_sees_what_is_theirs_to_see(stage: Stage) -> None:
    world = await world_of(stage, read(TABLE))
    wrong = await all_of(world.viewers, ask_by_id)
    wrong += await all_of(world.viewers, ask_pages, PAGES + TIMELINES)
    wrong += await look_at_pages(world)
    await world.read_anew()
    await stage.sql("UPDATE accounts SET indexable = false")
    await world.keep()
    wrong += await all_of(world.viewers, ask_pages, TIMELINES + KEPT)
    await world.follow_tag()
    wrong += await all_of(world.viewers, ask_pages, TAGGED)
    await world.trend()
    wrong += await all_of(world.viewers, ask_pages, TRENDS)
    assert none(wrong)


async def ask_requests(viewer: Viewer, column: str, letter: str) -> Complaints:
    wrong: Complaints = []
    for line in lines(REQUESTS):
        method, template = line.split()
        path = viewer.fill(template, letter)
        answer = await viewer.client.send(method, path) if path is not None else None
        if answer is not None and not (viewer.is_anonymous and answer.status == 401):
            shown = misshown(viewer, answer, letter, [f"post:{column}"])
            wrong += [f"{viewer.row.who}: {method} {template} {one}" for one in shown]
    return wrong


async def test_requests_show_the_statuses_that_their_notifications_would(stage: Stage) -> None:
    world = await world_of(stage, read(TABLE))
    wrong: Complaints = []
    for type, column in (("mention", "named"), ("quote", "told")):
        for letter in VISIBILITIES:
            await world.filter(type, letter)
            wrong += await all_of(world.viewers, ask_requests, column, letter)
    assert none(wrong)


@pytest.mark.parametrize("how", ["block", "mute"])
async def test_mentions_of_a_post_count_in_timelines(stage: Stage, ada: Person, bob: Person, how: str) -> None:
    mia = await stage.person("mia")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    made = (await bob.post("/api/v1/lists", {"title": "Ada"})).json["id"]
    await bob.post(f"/api/v1/lists/{made}/accounts", json={"account_ids": [ada.id]})
    await bob.post(f"/api/v1/accounts/{mia.id}/{how}")
    await ada.put("/api/v1/accounts/update_credentials", {"indexable": "true"})
    root = await ada.publish("root")
    post = await ada.publish("@mia a needle #matrix", in_reply_to_id=root["id"])
    for line in lines(NAMING):
        path, due = line.split()
        path = path.format(list=made, author=ada.id, root=root["id"], post=post["id"])
        for reader, seen in ((bob, due == "p"), (mia, "/home" not in path)):
            if "/list/" not in path or reader is bob:
                assert ("needle" in (await reader.get(path)).text) == seen, path


async def ask_about_accounts(viewer: Viewer, letter: str, table: str = ABOUT_ACCOUNTS) -> Complaints:
    wrong: Complaints = []
    for line in lines(table):
        column, method, template, sought = line.split()
        answer = await viewer.client.send(method, viewer.fill(template) or "")
        if viewer.is_anonymous and answer.status == 401:
            continue
        due = letter in viewer.row.cell(column)
        # Pages of an account that is gone are gone, or missing.
        served = answer.status == 200 or (answer.status in (404, 410) and not viewer.row.cell("account"))
        if not served or ((viewer.fill(sought) or "") in answer.text) != due:
            wrong.append(f"{viewer.row.who}, {letter}: {method} {template} is {answer.status} {answer.text}")
    return wrong


async def test_each_learns_what_accounts_show_of_themselves(stage: Stage) -> None:
    world = await world_of(stage, read(NETWORK))
    await world.keep()
    wrong = await all_of(world.viewers, ask_about_accounts, "o")
    await stage.sql("UPDATE accounts SET hide_collections = true WHERE username IN ('ada', 'zoe')")
    wrong += await all_of(world.viewers, ask_about_accounts, "h")
    assert none(wrong)


async def test_accounts_that_hide_their_follows_are_no_familiar_followers(
    stage: Stage, ada: Person, bob: Person
) -> None:
    tom = await stage.person("tom")
    await ada.post(f"/api/v1/accounts/{tom.id}/follow")
    await tom.post(f"/api/v1/accounts/{bob.id}/follow")
    path = f"/api/v1/accounts/familiar_followers?id[]={bob.id}&id[]=x"
    assert [[one["acct"] for one in told["accounts"]] for told in (await ada.get(path)).json] == [["tom"]]
    await tom.put("/api/v1/accounts/update_credentials", {"hide_collections": "true"})
    assert (await ada.get(path)).json == [{"id": bob.id, "accounts": []}]


async def ask_everything(world: World, *, author_sees: bool = True) -> Complaints:
    """Return what is shown wrongly, also by timelines from memory. Accounts are asked about last."""
    viewers = [viewer for viewer in world.viewers if author_sees or viewer.row.who != "author"]
    wrong = await all_of(viewers, ask_by_id)
    wrong += await all_of(viewers, ask_pages, PAGES + TIMELINES)
    wrong += await look_at_pages(world)
    await world.keep()
    wrong += await all_of(viewers, ask_pages, KEPT)
    for table in (ABOUT_ACCOUNTS, OF_ADA):
        wrong += await all_of(viewers, ask_about_accounts, "o", table)
    return wrong


async def ask_what_follows(world: World, *, author_sees: bool = True) -> Complaints:
    """The same of requests whose rows are changed first."""
    viewers = [viewer for viewer in world.viewers if author_sees or viewer.row.who != "author"]
    await world.read_anew()
    wrong = await all_of(viewers, ask_pages, TIMELINES)
    await world.follow_tag()
    wrong += await all_of(viewers, ask_pages, TAGGED)
    await world.trend()
    wrong += await all_of(viewers, ask_pages, TRENDS)
    for type, column in (("mention", "named"), ("quote", "told")):
        await world.filter(type, "p")
        wrong += await all_of(viewers, ask_requests, column, "p")
    return wrong


async def test_the_silenced_are_found_by_their_followers_only(stage: Stage) -> None:
    world = await world_of(stage, read(SILENCED, NETWORK_OF_SILENCED))
    await moderating.act(stage, world.ada.account, "silence")
    wrong = await ask_everything(world)
    wrong += await ask_what_follows(world)
    assert none(wrong)


async def hold_back(*_: object) -> None:
    """Erase nothing."""


@pytest.mark.parametrize("state", ["suspend", "delete", "delete, and erase later"])
async def test_of_the_suspended_there_is_nothing(
    stage: Stage, state: Literal["suspend", "delete", "delete, and erase later"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in rows nor in what timelines have in memory; who they boosted, or was boosted by, is no way around.

    The rows of the deleted are erased in batches, after the answer: there is nothing of them before that, either.
    """
    if state == "delete, and erase later":
        monkeypatch.setitem(KINDS, "erase", replace(KINDS["erase"], execute=hold_back))
    world = await world_of(stage, read(SUSPENDED, NETWORK_OF_SUSPENDED))
    if state == "suspend":
        await moderating.act(stage, world.ada.account, state)
    else:
        await stage.http_context.runtime.ask(account_address(world.ada.account.id), DeleteAccount())
    wrong = await all_of(world.viewers, act, allowed=False)
    wrong += await ask_everything(world)
    if state == "suspend":  # of the deleted there are no rows to change
        wrong += await ask_what_follows(world)
    assert none(wrong)


@pytest.mark.parametrize("state", ["disable", "sensitive"])
async def test_statuses_of_the_disabled_and_the_sensitive_stay(stage: Stage, state: State) -> None:
    people = [row for row in read(TABLE, NETWORK) if row.who in {one.who for one in read(SILENCED)}]
    world = await world_of(stage, people)
    await moderating.act(stage, world.ada.account, state)
    assert none(await ask_everything(world, author_sees=state != "disable"))


@pytest.mark.parametrize("state", ["disable", "sensitive", "silence", "suspend"])
async def test_all_is_shown_again_when_an_act_is_undone(stage: Stage, state: State) -> None:
    people = [row for row in read(TABLE, NETWORK) if row.who in {one.who for one in read(SILENCED)}]
    world = await world_of(stage, people)
    await moderating.act(stage, world.ada.account, state)
    await world.wake()
    await moderating.undo(stage, world.ada.account, state)
    assert none(await ask_everything(world) + await ask_what_follows(world))


async def test_each_does_what_is_theirs_to_do_and_the_rest_changes_nothing(stage: Stage) -> None:
    world = await world_of(stage, read(TABLE, DOING))
    before = await rows(stage)
    wrong = await all_of(world.viewers, act, allowed=False)
    assert none(wrong)
    assert await rows(stage) == before
    # The author comes last, who deletes what the others are asked about.
    viewers = sorted(world.viewers, key=lambda viewer: viewer.row.who == "author")
    assert none(await all_of(viewers, act, allowed=True))


# -- streams


class Listener(WebSocketFrames):
    """A viewer on every stream that there is for them, and what they hear: stream, event and payload."""

    def __init__(self, viewer: Viewer, stage: Stage) -> None:
        super().__init__(stage.http_context.rendered, stage.http_context.settings.base_url)
        self.viewer = viewer
        self.heard: list[tuple[str, str, str]] = []

    async def listen(self, stage: Stage, nursery: trio.Nursery) -> None:
        http_context, secret = stage.http_context, self.viewer.client.token
        token = await http_context.tokens.find(http_context.database, secret) if secret else None
        session = StreamSession(
            http_context.runtime, http_context.viewers, http_context.withdrawals, http_context.others,
            token, Origin("listening"), self,
            10_000, http_context.record,
        )  # fmt: skip
        nursery.start_soon(self._hear, session)
        await session.watch_account()
        for name, channel in CHANNELS.items():
            if token is not None or channel.public:
                facts = {"stream": name, "tag": "matrix", "list": self.viewer.fill("<list>") or ""}
                await session.subscribe(by_name(StreamQuery.read(facts)))

    async def _hear(self, session: StreamSession) -> None:
        while await session.take():
            pass

    def frame(self, event: Event, label: bytes, viewer: ViewerPart = NO_VIEWER, id: str = "") -> bytes:
        frame = orjson.loads(super().frame(event, label, viewer, id))
        self.heard.append((frame["stream"][0], frame["event"], frame["payload"]))
        return b""

    def complaints(self, table: str) -> Iterator[str]:
        for line in lines(table):
            stream, event, *wanted = line.split()
            if self.viewer.is_anonymous and not CHANNELS[stream].public:
                continue
            payloads = [payload for *where, payload in self.heard if where == [stream, event]]
            for pair in wanted:
                kind, column = pair.split(":")
                seen = "".join(letter for letter in VISIBILITIES if self._is_among(payloads, event, kind, letter))
                if seen != (due := self.viewer.row.cell(column)):
                    yield f"{self.viewer.row.who}: {stream} tells {event} of {kind} {seen or '-'}, not {due or '-'}"

    def _is_among(self, payloads: list[str], event: str, kind: str, letter: str) -> bool:
        if event == "delete":
            return str(self.viewer.world.ids[self.viewer.author.id, kind, letter]) in payloads
        return any(marker(self.viewer.author, kind, letter) in payload for payload in payloads)


async def test_each_hears_what_is_theirs_to_hear(stage: Stage, nursery: trio.Nursery) -> None:
    world = await world_of(stage, read(TABLE, LIVE))
    listeners = [Listener(viewer, stage) for viewer in world.viewers]
    for listener in listeners:
        await listener.listen(stage, nursery)
    await world.publish()
    await world.receive()
    await wait_all_tasks_blocked()
    wrong = [one for listener in listeners for one in listener.complaints(STREAMS)]
    await world.edit()
    await world.delete()
    await wait_all_tasks_blocked()
    wrong += [one for listener in listeners for one in listener.complaints(CHANGES)]
    assert none(wrong)


# -- that nothing is left out


def named(*tables: str) -> set[tuple[str, str]]:
    """Methods and shapes of the paths that tables name."""
    found = re.findall(r"(GET|POST|PUT|DELETE) +(/[^\s?]+)", "".join(tables))
    paths = [
        (method, path.replace("/tag/matrix", "/tag/<tag>").replace("/tag/else", "/tag/<tag>")) for method, path in found
    ]
    return {(method, shape(path.replace("ungrouped-", ""))) for method, path in paths}


def tells_of_statuses(endpoint: Endpoint) -> bool:
    return endpoint.path.startswith(BELOW) or (
        endpoint.returns is not None and not PARTS.isdisjoint(reached(schema_of(endpoint.returns)))
    )


def reached(schema: Schema) -> set[str]:
    """The names of all objects that can be in an answer."""
    found: set[str] = set()
    left = [schema]
    while left:
        text = orjson.dumps(left.pop()).decode()
        fresh = set(re.findall('#/components/schemas/([^"]+)', text)) - found
        found |= fresh
        left += [entities()[name] for name in fresh]
    return found


def test_every_endpoint_that_tells_of_statuses_is_in_the_matrix() -> None:
    tables = (BY_ID, PAGES, TIMELINES, KEPT, TRENDS, REQUESTS, ACTS)
    asked = named(*tables) | {tuple(row.split()) for row in ELSEWHERE}
    # PATCH is another word for PUT.
    there = {
        ("PUT" if one.method == "PATCH" else one.method, shape(one.path))
        for one in all_endpoints()
        if one.permission is None and tells_of_statuses(one)  # test_staff.py calls those of staff
    }
    gone = {(one.method, shape(one.path)) for one in all_endpoints() if one.path.endswith("/card")}
    assert len(there) > 40
    assert there - gone - asked == set()


def test_every_endpoint_that_tells_of_accounts_is_in_the_matrix() -> None:
    below = "/api/v1/accounts"
    there = {(one.method, shape(one.path)) for one in all_endpoints() if one.method == "GET" and below in one.path}
    asked = named(ABOUT_ACCOUNTS, PAGES) | {tuple(row.split()) for row in OF_THE_VIEWER}
    assert len(there) > 10
    assert there - asked == set()


def test_every_stream_is_in_the_matrix() -> None:
    assert {line.split()[0] for line in lines(STREAMS)} == set(CHANNELS)
