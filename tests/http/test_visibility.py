"""Who sees what, for every kind of viewer, every visibility and every surface that shows a status or a part of it.

The tables are written by hand after the API's pages on visibility, blocks and mutes; nothing here asks the code that
decides. A cell holds the visibilities that are seen: p(ublic), u(nlisted), f(ollowers, which is private), d(irect).
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import orjson
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import Event, Origin
from troupe.http.endpoints import all_endpoints
from troupe.http.openapi.schemas import Schema, answers, entities, schema_of, shape
from troupe.http.router import Endpoint
from troupe.http.streaming.channels import CHANNELS, StreamQuery, by_name
from troupe.http.streaming.frames import Frames
from troupe.http.streaming.session import Session

from ..clients import Person, Reply, Stage
from .matrix import VISIBILITIES, Viewer, marker, read, world_of
from .stored import rows

# Everybody's name says what they are: a `follower` follows the author, a `mentioned` one is named by all posts, and so
# on. Who is `distant` or `domain-blocking` looks at an author of another server. All of them follow Tom, who boosts.
#
# sees     by its id, whatever is asked of it; when it is boosted (`boost`) and of its poll (`poll`)
# thread   above and below what it is said to; found: by words, once one has favourited it; search: before that
# home     in the home timeline and in lists; shared: when Tom has boosted it, or the viewer, who is shown that
# open     in public timelines and under hashtags (which have answers as well)
# profile  on the page of its author; tom: as a boost on Tom's
# told     in notifications that are no mentions; named: in mentions; letters: in conversations
# earlier  what it said before an edit named the `mentioned`: to be named later opens nothing that was said before
TABLE = """
                           sees boost poll thread search found home shared open profile tom told named letters earlier
anonymous                  pu   pu    p    pu     -      -     -    -      p    pu      pu  -    -     -       pu
stranger                   pu   pu    pu   pu     p      pu    -    pu     p    pu      pu  pu   -     pu      pu
staff                      pu   pu    pu   pu     p      pu    -    pu     p    pu      pu  pu   -     pu      pu
follower                   puf  puf   puf  puf    p      puf   puf  puf    p    puf     pu  puf  -     puf     puf
mentioned                  pufd pu    pufd pufd   pufd   pufd  -    pu     p    pufd    pu  pufd pufd  pufd    pu
mentioned follower         pufd puf   pufd pufd   pufd   pufd  pufd pufd   p    pufd    pu  pufd pufd  pufd    puf
blocked follower           -    -     -    -      -      -     -    -      -    -       -   -    -     -       -
blocked mentioned          fd   -     fd   -      -      -     -    -      -    -       -   fd   pufd  fd      -
blocking follower          pu   pu    pu   -      -      -     -    -      -    pu      -   -    -     -       pu
blocking mentioned         pufd pu    pufd -      -      -     -    -      -    pufd    -   -    -     -       pu
muting follower            puf  puf   puf  -      -      -     -    -      -    puf     -   -    -     -       puf
muting mentioned follower  pufd puf   pufd -      -      -     -    -      -    pufd    -   -    -     -       puf
author                     pufd puf   pufd pufd   pufd   pufd  pufd pufd   p    pufd    pu  -    -     pufd    pufd
distant stranger           pu   pu    pu   pu     p      pu    -    pu     p    pu      pu  pu   -     pu      pu
distant follower           puf  puf   puf  puf    p      puf   puf  puf    p    puf     pu  puf  -     puf     puf
domain-blocking stranger   pu   pu    pu   -      -      -     -    -      -    pu      -   -    -     pu      pu
domain-blocking follower   puf  puf   puf  -      -      -     -    -      -    puf     -   puf  -     puf     puf
domain-blocking mentioned  pufd pu    pufd -      -      -     -    -      -    pufd    -   -    -     pufd    pu
"""

# What is done with it. Where it is seen and not here, it is refused.
DOING = """
                           likes boosts votes mutes pins
anonymous                  -     -      -     -     -
stranger                   pu    pu     pu    -     -
staff                      pu    pu     pu    -     -
follower                   puf   pu     puf   -     -
mentioned                  pufd  pu     pufd  pufd  -
mentioned follower         pufd  pu     pufd  pufd  -
blocked follower           -     -      -     -     -
blocked mentioned          -     -      -     fd    -
blocking follower          -     -      -     -     -
blocking mentioned         -     -      -     pufd  -
muting follower            puf   pu     puf   -     -
muting mentioned follower  pufd  pu     pufd  pufd  -
author                     pufd  puf    -     pufd  puf
distant stranger           pu    pu     pu    -     -
distant follower           puf   pu     puf   -     -
domain-blocking stranger   pu    pu     pu    -     -
domain-blocking follower   puf   pu     puf   -     -
domain-blocking mentioned  pufd  pu     pufd  pufd  -
"""

# Whoever was silenced is heard by their followers only, in threads and search; nobody finds them in public.
SILENCED = """
                           sees boost poll thread search found home shared open profile tom told named letters earlier
anonymous                  pu   pu    p    -      -      -     -    -      -    pu      pu  -    -     -       pu
stranger                   pu   pu    pu   -      -      -     -    pu     -    pu      pu  pu   -     pu      pu
follower                   puf  puf   puf  puf    p      puf   puf  puf    -    puf     pu  puf  -     puf     puf
mentioned                  pufd pu    pufd -      -      -     -    pu     -    pufd    pu  pufd pufd  pufd    pu
mentioned follower         pufd puf   pufd pufd   pufd   pufd  pufd pufd   -    pufd    pu  pufd pufd  pufd    puf
author                     pufd puf   pufd pufd   pufd   pufd  pufd pufd   -    pufd    pu  -    -     pufd    pufd
"""

# Of the suspended there is nothing at all.
SUSPENDED = """
                           sees boost poll thread search found home shared open profile tom told named letters earlier
anonymous                  -    -     -    -      -      -     -    -      -    -       -   -    -     -       -
stranger                   -    -     -    -      -      -     -    -      -    -       -   -    -     -       -
follower                   -    -     -    -      -      -     -    -      -    -       -   -    -     -       -
mentioned                  -    -     -    -      -      -     -    -      -    -       -   -    -     -       -
mentioned follower         -    -     -    -      -      -     -    -      -    -       -   -    -     -       -
"""

# 200 for the column's cells, else 404. `post` is the author's, `answer` is to Tom, below his `root` and above his
# `leaf`, `boost` is one of `shared`, by Tom or, of the private one, by the author.
BY_ID = """
sees  GET  /api/v1/statuses/<post>
sees  GET  /api/v1/statuses/<answer>
sees  GET  /api/v1/statuses/<shared>
sees  GET  /api/v1/statuses/<post>/context
sees  GET  /api/v1/statuses/<post>/history
sees  GET  /api/v1/statuses/<post>/source
sees  GET  /api/v1/statuses/<post>/favourited_by
sees  GET  /api/v1/statuses/<post>/reblogged_by
sees  GET  /api/v1/statuses/<post>/quotes
boost GET  /api/v1/statuses/<boost>
boost GET  /api/v1/statuses/<boost>/context
boost GET  /api/v1/statuses/<boost>/history
boost GET  /api/v1/statuses/<boost>/source
boost GET  /api/v1/statuses/<boost>/favourited_by
boost GET  /api/v1/statuses/<boost>/reblogged_by
boost GET  /api/v1/statuses/<boost>/quotes
poll  GET  /api/v1/polls/<poll>
told  GET  /api/v1/notifications/<news>
named GET  /api/v1/notifications/<mention>
told  GET  /api/v2/notifications/ungrouped-<news>
named GET  /api/v2/notifications/ungrouped-<mention>
never GET  /api/v1/media/<medium>
never POST /api/v1/statuses/<post>/translate
never POST /api/v1/statuses/<post>/quotes/<post>/revoke
"""

# What an account shows of itself, and whom it knows: while it shows its network (o) and while it hides it (h). Tom
# follows the author and is followed by everybody; the author follows and recommends Sam and features a hashtag.
NETWORK = """
                           account followers following endorsed featured familiar directory
anonymous                  oh      o         o         oh       oh       -        oh
stranger                   oh      o         o         oh       oh       o        oh
staff                      oh      o         o         oh       oh       o        oh
follower                   oh      o         o         oh       oh       o        oh
mentioned                  oh      o         o         oh       oh       o        oh
mentioned follower         oh      o         o         oh       oh       o        oh
blocked follower           oh      -         -         -        -        -        -
blocked mentioned          oh      -         -         -        -        -        -
blocking follower          oh      o         o         oh       oh       o        -
blocking mentioned         oh      o         o         oh       oh       o        -
muting follower            oh      o         o         oh       oh       o        -
muting mentioned follower  oh      o         o         oh       oh       o        -
author                     oh      oh        oh        oh       oh       oh       oh
distant stranger           oh      o         o         oh       oh       o        oh
distant follower           oh      o         o         oh       oh       o        oh
domain-blocking stranger   oh      o         o         oh       oh       o        -
domain-blocking follower   oh      o         o         oh       oh       o        -
domain-blocking mentioned  oh      o         o         oh       oh       o        -
"""

# The column, the request, and what is looked for in the answer.
ABOUT_ACCOUNTS = """
account   GET /api/v1/accounts/<author>                           "acct"
account   GET /api/v1/accounts?id[]=<author>                      "acct"
followers GET /api/v1/accounts/<author>/followers                 "acct":"tom"
following GET /api/v1/accounts/<author>/following                 "acct":"sam"
endorsed  GET /api/v1/accounts/<author>/endorsements              "acct":"sam"
featured  GET /api/v1/accounts/<author>/featured_tags             "name":"matrix"
familiar  GET /api/v1/accounts/familiar_followers?id[]=<author>   "acct":"tom"
directory GET /api/v1/directory?limit=80                          "id":"<author>"
directory GET /api/v1/directory?limit=80&order=new                "id":"<author>"
"""

# What tells of accounts and is no row above.
OF_THE_VIEWER = {
    "GET /api/v1/accounts/verify_credentials": "the viewer's own",
    "GET /api/v1/accounts/relationships": "how the viewer stands to others",
    "GET /api/v1/accounts/search": "whom anybody may find, or whom the viewer follows",
    "GET /api/v1/accounts/lookup": "an account by its handle, shown as by its id",
    "GET /api/v1/accounts/<>/lists": "the viewer's own lists",
    "GET /api/v1/accounts/<>/identity_proofs": "there are none",
}

# Asked without an id, or with one of what everybody sees: which posts are in the answer, by kinds. An `aside` answers
# somebody whom nobody follows, and is at home with its author only; an `echo` is boosted by every viewer.
PAGES = """
GET  /api/v1/statuses?<every>                                post:sees
GET  /api/v1/statuses/<leaf>/context                         answer:thread
GET  /api/v1/statuses/<root>/context                         answer:thread
GET  /api/v1/statuses/<revised>/history                      revised:sees earlier:earlier
GET  /api/v1/accounts/<author>/statuses?limit=40             post:profile answer:profile aside:profile shared:profile
GET  /api/v1/accounts/<author>/statuses?pinned=true          post:pinned answer:never aside:never shared:never
GET  /api/v1/accounts/<author>/statuses?tagged=matrix&limit=40         post:profile answer:profile aside:profile
GET  /api/v1/accounts/<author>/statuses?only_media=true&limit=40       post:profile answer:profile aside:profile
GET  /api/v1/accounts/<author>/statuses?exclude_replies=true&limit=40  post:profile answer:never aside:never
GET  /api/v1/accounts/<author>/statuses?exclude_reblogs=true&limit=40  post:profile answer:profile aside:profile
GET  /api/v1/accounts/<tom>/statuses?limit=40                shared:tom
GET  /api/v1/accounts/<self>/statuses?limit=40               echo:echoes
GET  /api/v1/notifications?types[]=update                    post:told
GET  /api/v1/notifications?types[]=mention                   post:named
GET  /api/v2/notifications?types[]=update                    post:told
GET  /api/v2/notifications?types[]=mention                   post:named
GET  /api/v1/conversations                                   post:letters
POST /api/v1/conversations/<letter>/read                     post:letters
POST /api/v1/conversations/<letter>/unread                   post:letters
GET  /api/v2/search?q=needle&limit=40                        post:search answer:search aside:search shared:search
"""

# The same of what has a memory, which is asked as it was, and when it has read everything anew.
TIMELINES = """
GET  /api/v1/timelines/home?limit=40                         post:home answer:home aside:own shared:shared echo:shared
GET  /api/v1/timelines/list/<list>?limit=40                  post:home answer:home aside:never shared:shared echo:home
GET  /api/v1/timelines/public?limit=40                       post:open answer:never aside:never shared:open
GET  /api/v1/timelines/public?local=true&limit=40            post:near answer:never aside:never shared:near
GET  /api/v1/timelines/public?remote=true&limit=40           post:far answer:never aside:never shared:far
GET  /api/v1/timelines/public?only_media=true&limit=40       post:open answer:never aside:never shared:open
GET  /api/v1/timelines/tag/matrix?limit=40                   post:open answer:open aside:open shared:open
GET  /api/v1/timelines/tag/else?any[]=matrix&limit=40        post:open answer:open aside:open shared:open
GET  /api/v1/timelines/tag/matrix?only_media=true&limit=40   post:open answer:open aside:open shared:open
"""

# The same once everybody has favourited and bookmarked everything, and the author lets nobody search.
KEPT = """
GET  /api/v2/search?q=needle&limit=40                        post:found answer:found aside:found shared:found
GET  /api/v1/favourites?limit=40                             post:sees answer:sees aside:sees shared:sees
GET  /api/v1/bookmarks?limit=40                              post:sees answer:sees aside:sees shared:sees
"""

# What is done: the column in whose cells it is, the refusal of those who see the post and may not (and another one of
# the author), and the request.
# The last three are the author's alone, and change what the others would be asked for.
ACTS = """
likes  403 POST   /api/v1/statuses/<post>/favourite
likes  403 POST   /api/v1/statuses/<boost>/favourite
sees   404 POST   /api/v1/statuses/<post>/unfavourite
boosts 403 POST   /api/v1/statuses/<post>/reblog
boosts 403 POST   /api/v1/statuses/<boost>/reblog
sees   404 POST   /api/v1/statuses/<post>/unreblog
sees   404 POST   /api/v1/statuses/<post>/bookmark
sees   404 POST   /api/v1/statuses/<boost>/bookmark
sees   404 POST   /api/v1/statuses/<post>/unbookmark
mutes  403 POST   /api/v1/statuses/<post>/mute
sees   404 POST   /api/v1/statuses/<post>/unmute
pins   422 POST   /api/v1/statuses/<post>/pin
never  422 POST   /api/v1/statuses/<boost>/pin
sees   404 POST   /api/v1/statuses/<post>/unpin
votes  403/422 POST   /api/v1/polls/<poll>/votes                   {"choices": [0]}
sees   404 POST   /api/v1/statuses                             {"status": "so", "in_reply_to_id": "<post>"}
own    404 PUT    /api/v1/statuses/<post>/interaction_policy   {"quote_approval_policy": "nobody"}
own    404 PUT    /api/v1/statuses/<post>                      {"status": "otherwise"}
own    404 DELETE /api/v1/statuses/<post>
"""

# What listeners hear when it happens: the stream, the event, and of which posts. Only Zoe's have media here.
STREAMS = """
user                update         post:home answer:home aside:own shared:shared
user                notification   post:named answer:named aside:named
user:notification   notification   post:named answer:named aside:named
user:notification   update         post:never answer:never aside:never shared:never
list                update         post:home answer:home aside:never shared:shared
direct              conversation   post:written answer:written aside:written shared:written
direct              update         post:never answer:never aside:never shared:never
public              update         post:open answer:never aside:never shared:open
public:media        update         post:far answer:never aside:never shared:far
public:local        update         post:near answer:never aside:never shared:near
public:local:media  update         post:never answer:never aside:never shared:never
public:remote       update         post:far answer:never aside:never shared:far
public:remote:media update         post:far answer:never aside:never shared:far
hashtag             update         post:open answer:open aside:open shared:open
hashtag:local       update         post:near answer:near aside:near shared:near
"""

# The author of this server edits `post`, and `echo` which many have boosted, and deletes `post`, `answer` and `aside`.
CHANGES = """
user                status.update  post:touched echo:echoing
user                notification   echo:echoed
user                delete         post:retracted answer:retracted
user:notification   status.update  post:greeted echo:greeted
user:notification   notification   echo:echoed
list                status.update  post:listed echo:listed
list                delete         post:listed answer:listed aside:never
public              status.update  post:near echo:near
public              delete         post:deleted answer:never aside:never
public:media        status.update  post:never
public:local        status.update  post:near echo:near
public:local        delete         post:deleted answer:never aside:never
hashtag             status.update  post:near echo:near
hashtag             delete         post:deleted answer:deleted aside:deleted
hashtag:local       status.update  post:near echo:near
"""

# Columns that only changes have. An edit is shown to those who have the post at home (of an `echo`, their own boost of
# it) or are named in it (`touched`, `echoing`; `greeted` the named alone), and is news to boosters (`echoed`). What is
# deleted is `retracted` from those who had it or are named; public streams and hashtags tell everybody (`deleted`).
# Direct posts are `written` into conversations. `listed` is home, as lists have it.
LIVE = """
                           touched echoing greeted echoed retracted deleted written listed
anonymous                  -       -       -       -      -         p       -       -
stranger                   -       pu      -       pu     -         p       -       -
staff                      -       pu      -       pu     -         p       -       -
follower                   puf     puf     -       pu     puf       p       -       puf
mentioned                  pufd    pufd    pufd    pu     pufd      p       d       -
mentioned follower         pufd    pufd    pufd    pu     pufd      p       d       pufd
blocked follower           -       -       -       -      -         p       -       -
blocked mentioned          -       -       -       -      pufd      p       d       -
blocking follower          -       -       -       -      -         p       -       -
blocking mentioned         -       -       -       -      pufd      p       -       -
muting follower            -       -       -       -      -         p       -       -
muting mentioned follower  -       -       -       -      pufd      p       -       -
author                     pufd    pufd    -       -      pufd      p       d       pufd
distant stranger           -       -       -       -      -         -       -       -
distant follower           -       -       -       -      -         -       -       -
domain-blocking stranger   -       -       -       -      -         -       -       -
domain-blocking follower   -       -       -       -      -         -       -       -
domain-blocking mentioned  -       -       -       -      -         -       -       -
"""

# What shows statuses, or parts of them, and is no row above.
ELSEWHERE = {
    "GET /api/v1/statuses/<>/card": "gone, whoever asks",
    "GET /api/v1/trends/statuses": "nothing trends here",
}
# What tells something of a status: by what they answer with, or by their paths.
PARTS = {"Status", "StatusEdit", "StatusSource", "Poll", "Translation"}
BELOW = ("/api/v1/statuses/<", "/api/v1/polls/<")

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
        for among in VISIBILITIES if re.search("<(leaf|letter|revised)>", template) else ("".join(VISIBILITIES),):
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
            json = orjson.loads(viewer.fill(body[0], letter) or "") if body else {}
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
    await world.read_anew()
    await stage.sql("UPDATE accounts SET indexable = false")
    await world.keep()
    wrong += await all_of(world.viewers, ask_pages, TIMELINES + KEPT)
    assert none(wrong)


# One's own timelines are without what names somebody whom one blocks or mutes; elsewhere it is the author who counts.
NAMING = """
/api/v1/timelines/home                -
/api/v1/timelines/list/{list}         -
/api/v1/timelines/public              -
/api/v1/timelines/tag/matrix          -
/api/v1/accounts/{author}/statuses    p
/api/v1/statuses/{root}/context       p
/api/v1/statuses/{post}               p
/api/v2/search?q=needle               p
"""


@pytest.mark.parametrize("how", ["block", "mute"])
async def test_whom_a_post_names_counts_in_timelines(stage: Stage, ada: Person, bob: Person, how: str) -> None:
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


async def ask_about_accounts(viewer: Viewer, letter: str) -> Complaints:
    wrong: Complaints = []
    for line in lines(ABOUT_ACCOUNTS):
        column, method, template, sought = line.split()
        answer = await viewer.client.send(method, viewer.fill(template) or "")
        if viewer.is_anonymous and answer.status == 401:
            continue
        due = letter in viewer.row.cell(column)
        if answer.status != 200 or ((viewer.fill(sought) or "") in answer.text) != due:
            wrong.append(f"{viewer.row.who}, {letter}: {method} {template} is {answer.status} {answer.text}")
    return wrong


async def test_each_learns_what_accounts_show_of_themselves(stage: Stage) -> None:
    world = await world_of(stage, read(NETWORK))
    wrong = await all_of(world.viewers, ask_about_accounts, "o")
    await stage.sql("UPDATE accounts SET hide_collections = true WHERE username IN ('ada', 'zoe')")
    wrong += await all_of(world.viewers, ask_about_accounts, "h")
    assert none(wrong)


async def test_who_hides_their_follows_is_nobodys_familiar_follower(stage: Stage, ada: Person, bob: Person) -> None:
    tom = await stage.person("tom")
    await ada.post(f"/api/v1/accounts/{tom.id}/follow")
    await tom.post(f"/api/v1/accounts/{bob.id}/follow")
    path = f"/api/v1/accounts/familiar_followers?id[]={bob.id}&id[]=x"
    assert [[one["acct"] for one in told["accounts"]] for told in (await ada.get(path)).json] == [["tom"]]
    await tom.put("/api/v1/accounts/update_credentials", {"hide_collections": "true"})
    assert (await ada.get(path)).json == [{"id": bob.id, "accounts": []}]


async def test_the_silenced_are_found_by_their_followers_only(stage: Stage) -> None:
    world = await world_of(stage, read(SILENCED))
    await stage.sql("UPDATE accounts SET silenced_at = now() WHERE username = 'ada'")
    await world.read_anew()
    wrong = await all_of(world.viewers, ask_by_id)
    wrong += await all_of(world.viewers, ask_pages, PAGES + TIMELINES)
    await world.keep()
    wrong += await all_of(world.viewers, ask_pages, KEPT)
    assert none(wrong)


async def test_of_the_suspended_there_is_nothing(stage: Stage) -> None:
    """Neither in rows nor in what timelines have in memory; who they boosted, or was boosted by, is no way around."""
    world = await world_of(stage, read(SUSPENDED))
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE username = 'ada'")
    wrong = await all_of(world.viewers, ask_by_id)
    wrong += await all_of(world.viewers, ask_pages, PAGES + TIMELINES)
    wrong += await all_of(world.viewers, act, allowed=False)
    await world.read_anew()
    await world.keep()
    wrong += await all_of(world.viewers, ask_pages, TIMELINES + KEPT)
    assert none(wrong)


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


class Listener:
    """A viewer on every stream that there is for them, and what they hear: stream, event and payload."""

    def __init__(self, viewer: Viewer, frames: Frames) -> None:
        self.viewer = viewer
        self.heard: list[tuple[str, str, str]] = []
        self._frames = frames

    async def listen(self, stage: Stage, nursery: trio.Nursery) -> None:
        http_context, secret = stage.http_context, self.viewer.client.token
        token = await http_context.tokens.find(http_context.database, secret) if secret else None
        session = Session(http_context.runtime, token, Origin("listening"), self._take, 10_000, http_context.record)
        nursery.start_soon(self._hear, session)
        await session.watch_account()
        for name, channel in CHANNELS.items():
            if token is not None or channel.public:
                facts = {"stream": name, "tag": "matrix", "list": self.viewer.fill("<list>") or ""}
                await session.subscribe(by_name(StreamQuery.read(facts)))

    async def _hear(self, session: Session) -> None:
        while await session.take():
            pass

    def _take(self, event: Event, label: bytes) -> bytes:
        frame = orjson.loads(self._frames.for_websocket(event, label))
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
    frames = Frames(stage.http_context.rendered, stage.http_context.settings.base_url)
    listeners = [Listener(viewer, frames) for viewer in world.viewers]
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
    notation = answers().get((endpoint.method, shape(endpoint.path)))
    return endpoint.path.startswith(BELOW) or (
        notation is not None and not PARTS.isdisjoint(reached(schema_of(notation)))
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
    asked = named(BY_ID, PAGES, TIMELINES, KEPT, ACTS) | {tuple(row.split()) for row in ELSEWHERE}
    # PATCH is another word for PUT.
    there = {
        ("PUT" if one.method == "PATCH" else one.method, shape(one.path))
        for one in all_endpoints()
        if tells_of_statuses(one)
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
