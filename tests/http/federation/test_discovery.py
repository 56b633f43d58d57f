"""Other servers find accounts; statistics sites learn what runs here; browsers of other origins may read it."""

import xml.etree.ElementTree as ElementTree

import pytest

from troupe.actors.activitypub.names import LocalNames
from troupe.http.federation.webfinger import local_name

from ...clients import BASE, Person, Reply, Stage

DOMAIN = "localhost:3000"
WEBFINGER = "/.well-known/webfinger"
SUBSCRIBE = "http://ostatus.org/schema/1.0/subscribe"


async def webfinger(stage: Stage, resource: str) -> Reply:
    return await stage.anybody().send("GET", WEBFINGER, query_string={"resource": resource})


@pytest.mark.parametrize(
    "resource",
    [
        f"acct:ada@{DOMAIN}",
        f"ada@{DOMAIN}",
        f"acct:@ADA@{DOMAIN}",
        f"{BASE}/users/ada",
        f"{BASE}/@ada",
        f"{BASE}/@ada/",
        f"{BASE.upper()}/@ada?x#y",
        f"https://{DOMAIN}/%40ada",
        f"{BASE}/web/@ada@{DOMAIN}",
        f"ACCT:ada@{DOMAIN}",
    ],
)
def test_a_local_account_by_any_of_its_names(resource: str) -> None:
    name = local_name(resource, LocalNames(BASE))
    assert name is not None
    assert name.lower() == "ada"


@pytest.mark.parametrize(
    "resource",
    [
        "ada",
        "acct:ada",
        "acct:ada@elsewhere.example",
        f"{BASE}/@ada/103",
        f"{BASE}/",
        f"{BASE}.evil.example/@ada",
        "https://elsewhere.example/@ada",
        "acct:",
        "",
        f"acct:ad\u0430@{DOMAIN}",
    ],
)
def test_names_of_others_and_no_names_at_all(resource: str) -> None:
    assert local_name(resource, LocalNames(BASE)) is None


async def test_webfinger_of_an_account(stage: Stage, ada: Person) -> None:
    answer = await webfinger(stage, f"acct:Ada@{DOMAIN}")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/jrd+json; charset=utf-8"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.json["subject"] == f"acct:ada@{DOMAIN}"
    assert answer.json["aliases"] == [f"{BASE}/@ada", f"{BASE}/users/ada"]
    links = {link["rel"]: link for link in answer.json["links"]}
    assert links["self"] == {"rel": "self", "type": "application/activity+json", "href": f"{BASE}/users/ada"}
    assert links["http://webfinger.net/rel/profile-page"]["href"] == f"{BASE}/@ada"


@pytest.mark.parametrize(
    "resource",
    [
        "ACCT:ADA@{}", "ada@{}", "@ada@{}", "acct:@ada@{}", "acct:ada%40{}", "acct%3Aada%40{}",
        " acct:ada@{} ", "http://{}/@ada", "https://{}/users/ADA/", "http://{}/users/ada#main-key",
    ],
)  # fmt: skip
async def test_webfinger_knows_an_account_in_every_spelling(stage: Stage, ada: Person, resource: str) -> None:
    for domain in (DOMAIN, DOMAIN.upper()):
        answer = await webfinger(stage, resource.format(domain))
        assert (answer.status, answer.json.get("subject")) == (200, f"acct:ada@{DOMAIN}"), domain


async def test_webfinger_of_the_server(stage: Stage) -> None:
    handle = f"{DOMAIN}@{DOMAIN}"
    for resource in (
        f"acct:{handle}", f"@{handle}", f"acct%3A{handle}", f"{BASE}/actor", f"{BASE}/actor/", f"{BASE.upper()}/actor",
        BASE, f"{BASE}/", f"https://{DOMAIN.upper()}/", DOMAIN,
    ):  # fmt: skip
        assert (await webfinger(stage, resource)).json.get("subject") == f"acct:{handle}", resource


async def test_webfinger_of_the_server_says_where_its_people_follow_others(stage: Stage) -> None:
    """Mastodon asks for it when a visitor enters this domain there."""
    links = {link["rel"]: link for link in (await webfinger(stage, f"https://{DOMAIN}")).json["links"]}
    assert links[SUBSCRIBE]["template"] == f"{BASE}/authorize_interaction?uri={{uri}}"


@pytest.mark.parametrize("resource", ["foobar", "acct:", "acct:ada", "=acct:ada@{}", "acct://ada@{}", "a b@{}", "@{}"])
async def test_a_resource_that_is_no_uri_is_refused(stage: Stage, ada: Person, resource: str) -> None:
    answer = await webfinger(stage, resource.format(DOMAIN))
    assert (answer.status, answer.json) == (400, {"error": "resource must be a URI, such as acct:name@domain"})


@pytest.mark.parametrize(
    "resource", ["mailto:ada@{}", "https://{}/nobody", "https://{}.evil.example/", "acct:eve@far.test"]
)
async def test_other_uris_are_not_known(stage: Stage, ada: Person, resource: str) -> None:
    assert (await webfinger(stage, resource.format(DOMAIN))).status == 404


@pytest.mark.parametrize("path", ["@ada/{}/", "users/ADA/statuses/{}", "web/@ada/{}?utm_source=mail", "%40ada/{}"])
async def test_the_page_of_interactions_leads_to_an_own_thing(stage: Stage, ada: Person, path: str) -> None:
    id = (await ada.publish("hello"))["id"]
    for named, page in ((path.format(id), f"/{id}"), (path.partition("/{")[0].removesuffix("/statuses"), "")):
        query = {"uri": f"{BASE.upper()}/{named}"}
        answer = await stage.anybody().send("GET", "/authorize_interaction", query_string=query)
        assert (answer.status, answer.headers.get("Location", "").lower()) == (302, f"/@ada{page}"), named


async def test_webfinger_of_those_who_are_not_there(stage: Stage, ada: Person) -> None:
    assert (await webfinger(stage, f"acct:nobody@{DOMAIN}")).status == 404
    assert (await webfinger(stage, "acct:ada@elsewhere.example")).status == 404
    assert (await stage.anybody().get(WEBFINGER)).status == 400
    await stage.account("newcomer", confirmed_at=None)
    assert (await webfinger(stage, f"acct:newcomer@{DOMAIN}")).status == 404
    # A suspended account is still there, as its actor says: other servers look it up again to learn of the suspension.
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE username = 'ada'")
    suspended = (await webfinger(stage, f"acct:ada@{DOMAIN}")).json
    assert [link["rel"] for link in suspended["links"]] == ["self"]
    await stage.sql("UPDATE accounts SET deleted_at = now() WHERE username = 'ada'")
    assert (await webfinger(stage, f"acct:ada@{DOMAIN}")).status == 410


async def test_webfinger_of_the_server_leads_to_its_actor(stage: Stage) -> None:
    for resource in (f"acct:{DOMAIN}@{DOMAIN}", f"{BASE}/actor"):
        answer = (await webfinger(stage, resource)).json
        assert answer["subject"] == f"acct:{DOMAIN}@{DOMAIN}"
        assert {"rel": "self", "type": "application/activity+json", "href": f"{BASE}/actor"} in answer["links"]


async def test_people_of_other_servers_are_sent_back_to_follow(stage: Stage, ada: Person) -> None:
    links = {link["rel"]: link for link in (await webfinger(stage, f"acct:ada@{DOMAIN}")).json["links"]}
    template = links[SUBSCRIBE]["template"]
    assert template == f"{BASE}/authorize_interaction?uri={{uri}}"
    path = template.removeprefix(BASE)
    far = await stage.anybody().get(path.replace("{uri}", "https://far.test/%3Cb%3E"))
    assert (far.status, "https://far.test/&lt;b&gt;" in far.text) == (200, True)
    for handle in ("acct:eve@far.test", "@eve@far.test"):
        assert (await stage.anybody().get(path.replace("{uri}", handle))).status == 200
    for text in ("Call%20555%20now", "javascript:alert(1)", "https://far.test/%20call%20us"):
        assert (await stage.anybody().get(path.replace("{uri}", text))).status == 404, text
    status = await ada.publish()
    for uri, target in ((f"{BASE}/users/ada", "/@ada"), (status["uri"], f"/@ada/{status['id']}")):
        here = await stage.anybody().get(path.replace("{uri}", uri))
        assert (here.status, here.headers["Location"]) == (302, target)


async def test_host_meta_leads_to_webfinger(stage: Stage) -> None:
    client, template = stage.anybody(), f"{BASE}/.well-known/webfinger?resource={{uri}}"
    answer = await client.get("/.well-known/host-meta")
    assert answer.headers["Content-Type"] == "application/xrd+xml; charset=utf-8"
    link = ElementTree.fromstring(answer.body).find("{http://docs.oasis-open.org/ns/xri/xrd-1.0}Link")
    assert link is not None
    assert link.attrib == {"rel": "lrdd", "template": template}
    by_path = await client.get("/.well-known/host-meta.json")
    assert by_path.json == {"links": [{"rel": "lrdd", "template": template}]}
    for accept in ("application/json", "APPLICATION/JRD+JSON", "application/xrd+xml;q=0.5, application/json;q=0.9"):
        by_header = await client.get("/.well-known/host-meta", headers={"Accept": accept})
        assert by_header.json == by_path.json, accept
    for accept in ("*/*", "application/xrd+xml, application/json;q=0.9", "text/html, application/xml;q=0.9, */*;q=0.8"):
        by_header = await client.get("/.well-known/host-meta", headers={"Accept": accept})
        assert by_header.body == answer.body, accept


async def test_nodeinfo_counts_people_and_posts(stage: Stage, ada: Person) -> None:
    await ada.publish()
    client = stage.anybody()
    links = (await client.get("/.well-known/nodeinfo")).json["links"]
    schema = "http://nodeinfo.diaspora.software/ns/schema/"
    assert links == [{"rel": schema + one, "href": f"{BASE}/nodeinfo/{one}"} for one in ("2.0", "2.1")]
    newer = (await client.get("/nodeinfo/2.1")).json
    assert (newer["version"], newer["software"]["homepage"]) == ("2.1", BASE)
    answer = await client.get("/nodeinfo/2.0")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.json["version"] == "2.0"
    assert answer.json["software"]["name"] == "troupe"
    assert answer.json["usage"] == {"users": {"total": 1, "activeMonth": 1, "activeHalfyear": 1}, "localPosts": 1}
    assert answer.json["openRegistrations"] is False
    assert answer.json.keys() == {
        "version", "software", "protocols", "services", "usage", "openRegistrations", "metadata",
    }  # fmt: skip


async def test_health(stage: Stage) -> None:
    for accept in (None, "*/*", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json;q=0.5, text/plain"):
        answer = await stage.anybody().get("/health", headers={} if accept is None else {"Accept": accept})
        assert (answer.status, answer.body, answer.headers["Content-Type"]) == (200, b"OK", "text/plain; charset=utf-8")
    for accept in ("application/json", "application/json, text/plain, */*"):
        answer = await stage.anybody().get("/health", headers={"Accept": accept})
        assert (answer.json, answer.headers["Vary"]) == ({"status": "UP"}, "Accept"), accept
    assert (await stage.anybody().get("/health/live")).json == {"status": "UP"}
