"""Other servers find accounts; statistics sites learn what runs here; browsers of other origins may read it."""

import xml.etree.ElementTree as ElementTree

import pytest

from troupe.http.api.discovery import local_name

from ..clients import BASE, Person, Reply, Stage

DOMAIN = "localhost:3000"
WEBFINGER = "/.well-known/webfinger"


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
    ],
)
def test_a_local_account_by_any_of_its_names(resource: str) -> None:
    name = local_name(resource, DOMAIN, BASE)
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
    assert local_name(resource, DOMAIN, BASE) is None


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


async def test_webfinger_of_those_who_are_not_there(stage: Stage, ada: Person) -> None:
    assert (await webfinger(stage, f"acct:nobody@{DOMAIN}")).status == 404
    assert (await webfinger(stage, "acct:ada@elsewhere.example")).status == 404
    assert (await stage.anybody().get(WEBFINGER)).status == 400
    await stage.account("newcomer", confirmed_at=None)
    assert (await webfinger(stage, f"acct:newcomer@{DOMAIN}")).status == 404
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE username = 'ada'")
    assert (await webfinger(stage, f"acct:ada@{DOMAIN}")).status == 410


async def test_host_meta_leads_to_webfinger(stage: Stage) -> None:
    client, template = stage.anybody(), f"{BASE}/.well-known/webfinger?resource={{uri}}"
    answer = await client.get("/.well-known/host-meta")
    assert answer.headers["Content-Type"] == "application/xrd+xml; charset=utf-8"
    link = ElementTree.fromstring(answer.body).find("{http://docs.oasis-open.org/ns/xri/xrd-1.0}Link")
    assert link is not None
    assert link.attrib == {"rel": "lrdd", "template": template}
    by_path = await client.get("/.well-known/host-meta.json")
    by_header = await client.get("/.well-known/host-meta", headers={"Accept": "application/json"})
    assert by_path.json == by_header.json == {"links": [{"rel": "lrdd", "template": template}]}


async def test_nodeinfo_counts_people_and_posts(stage: Stage, ada: Person) -> None:
    await ada.publish()
    client = stage.anybody()
    (link,) = (await client.get("/.well-known/nodeinfo")).json["links"]
    assert link == {"rel": "http://nodeinfo.diaspora.software/ns/schema/2.0", "href": f"{BASE}/nodeinfo/2.0"}
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
    assert (await stage.anybody().get("/health")).json == {"status": "UP"}
