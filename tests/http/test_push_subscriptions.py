"""Push subscriptions: where a device gets notifications, for each token one."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ..checklist.rows import rows
from ..clients import Client, Person, Stage

PATH = "/api/v1/push/subscription"
ENDPOINT = "https://push.example/device/1"


def written(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def point(curve: ec.EllipticCurve | None = None) -> bytes:
    key = ec.generate_private_key(curve or ec.SECP256R1()).public_key()
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


P256DH = written(point())
AUTH = written(os.urandom(16))


def form(**more: Any) -> dict[str, Any]:
    """A subscription as a form. Give `keys.auth` and its like by `keys_auth`."""
    fields = {
        "subscription[endpoint]": more.pop("endpoint", ENDPOINT),
        "subscription[keys][p256dh]": more.pop("p256dh", P256DH),
        "subscription[keys][auth]": more.pop("auth", AUTH),
    }
    return {name: value for name, value in (fields | more).items() if value is not None}


def alerted(reply: Any) -> set[str]:
    return {name for name, on in reply.json["alerts"].items() if on}


@rows("S004", "S148")
async def test_a_device_subscribes_looks_changes_and_leaves(stage: Stage, ada: Person) -> None:
    assert (await ada.get(PATH)).status == 404
    made = await ada.done("POST", PATH, form(**{"data[alerts][mention]": "true", "data[alerts][poll]": "1"}))
    assert made == {
        "id": made["id"], "endpoint": ENDPOINT, "standard": False, "policy": "all",
        "server_key": stage.http_context.push_key.public,
        "alerts": {
            "mention": True, "status": False, "reblog": False, "follow": False, "follow_request": False,
            "favourite": False, "poll": True, "update": False, "quote": False, "quoted_update": False,
            "admin.sign_up": False, "admin.report": False,
        },
    }  # fmt: skip
    assert (await ada.get(PATH)).json == made
    changed = await ada.put(PATH, {"data[alerts][follow_request]": "true", "data[policy]": "followed"})
    assert changed.json == made | {"policy": "followed", "alerts": changed.json["alerts"]}
    assert alerted(changed) == {"follow_request"}
    assert (await ada.get(PATH)).json == changed.json
    gone = await ada.delete(PATH)
    assert (gone.status, gone.json) == (200, {})
    assert (await ada.get(PATH)).status == 404
    assert (await ada.delete(PATH)).status == 200


@rows("S149", "S225")
@pytest.mark.parametrize("scopes", [("read", "write", "follow"), ("read",)])
async def test_every_method_needs_the_scope_push(stage: Stage, scopes: tuple[str, ...]) -> None:
    eve = await stage.person("eve", scopes=scopes)
    for method in ("GET", "POST", "PUT", "DELETE"):
        refused = await eve.send(method, PATH)
        assert (refused.status, refused.json["error"]) == (403, "This action is outside the authorized scopes")


@rows("S150")
async def test_a_subscription_belongs_to_its_token(stage: Stage, ada: Person) -> None:
    tablet = Client(stage, await stage.token(ada.account))
    phone = await ada.post(PATH, form())
    assert (await tablet.get(PATH)).status == 404
    other = await tablet.post(PATH, form(endpoint="https://push.example/device/2"))
    assert other.json["id"] != phone.json["id"]
    assert (await ada.get(PATH)).json == phone.json
    await ada.delete(PATH)
    assert (await tablet.get(PATH)).json == other.json


@rows("S151", "S249")
async def test_without_a_subscription_there_is_nothing_to_show_or_change(ada: Person) -> None:
    for method in ("GET", "PUT"):
        refused = await ada.send(method, PATH)
        assert (refused.status, refused.json) == (404, {"error": "Not Found"})


async def test_a_new_subscription_takes_the_place_of_the_one_before(stage: Stage, ada: Person) -> None:
    first = await ada.post(PATH, form(**{"data[alerts][mention]": "true", "data[policy]": "none"}))
    second = await ada.post(PATH, form(endpoint="https://push.example/device/2", **{"subscription[standard]": "true"}))
    assert second.json["id"] != first.json["id"]
    assert (second.json["standard"], second.json["policy"], alerted(second)) == (True, "all", set())
    assert await stage.rows("SELECT endpoint FROM push_subscriptions") == [["https://push.example/device/2"]]


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://push.example",
        "https://ntfy.example:8443/up1?up=1",
        "https://PUSH.example?a=b",
        "https://push.example/ä#c",
    ],
)
async def test_the_endpoint_comes_back_as_it_was_given(ada: Person, endpoint: str) -> None:
    assert (await ada.post(PATH, form(endpoint=endpoint))).json["endpoint"] == endpoint
    assert (await ada.get(PATH)).json["endpoint"] == endpoint
    assert (await ada.put(PATH, {"policy": "none"})).json["endpoint"] == endpoint


async def test_ids_are_texts_of_a_number_of_31_bits(ada: Person) -> None:
    id = (await ada.post(PATH, form())).json["id"]
    assert isinstance(id, str)
    assert 0 < int(id) < 2**31


async def test_json_is_read_like_a_form(ada: Person) -> None:
    subscription = {"endpoint": ENDPOINT, "keys": {"p256dh": P256DH, "auth": AUTH}, "standard": True}
    data = {"alerts": {"admin.sign_up": True, "mention": False, "poll": "1"}, "policy": "follower"}
    made = await ada.post(PATH, json={"subscription": subscription, "data": data})
    assert (made.status, made.json["standard"], made.json["policy"]) == (200, True, "follower")
    assert alerted(made) == {"admin.sign_up", "poll"}


async def test_the_policy_may_stand_beside_the_data(ada: Person) -> None:
    await ada.post(PATH, form())
    assert (await ada.put(PATH, {"policy": "none"})).json["policy"] == "none"
    both = {"policy": "none", "data[policy]": "follower"}
    assert (await ada.put(PATH, both)).json["policy"] == "follower"
    assert (await ada.put(PATH, {"data[alerts][poll]": "true"})).json["policy"] == "all"


async def test_the_alerts_may_stand_beside_the_data(ada: Person) -> None:
    """An app sends the subscription as it was shown. Otherwise all of its alerts would end."""
    shown = (await ada.post(PATH, form(**{"data[alerts][mention]": "true"}))).json
    assert alerted(await ada.put(PATH, json=shown)) == {"mention"}
    assert alerted(await ada.put(PATH, json=shown | {"data": {"policy": "none"}})) == {"mention"}
    assert alerted(await ada.put(PATH, json=shown | {"data": {"alerts": {"poll": True}}})) == {"poll"}


@pytest.mark.parametrize("data", [[], {"alerts": []}, None, ""])
async def test_no_data_is_no_alerts(ada: Person, data: object) -> None:
    subscription = {"endpoint": ENDPOINT, "keys": {"p256dh": P256DH, "auth": AUTH}}
    made = await ada.post(PATH, json={"subscription": subscription, "data": data})
    assert (made.status, made.json["policy"], alerted(made)) == (200, "all", set())


async def test_keys_may_be_written_in_the_usual_base64_too(ada: Person) -> None:
    key, auth = point(), bytes(range(240, 256))
    usual = form(p256dh=base64.b64encode(key).decode(), auth=base64.b64encode(auth).decode())
    assert (await ada.post(PATH, usual)).status == 200


def on_lines(text: str) -> str:
    """As RFC 2045 has it, which Android writes unless it is told otherwise."""
    return "\r\n".join((text[:76], text[76:], ""))


def in_a_form(text: str) -> str:
    """As a form reads what was not escaped."""
    return text.replace("+", " ")


def pasted(text: str) -> str:
    return f"\r\n \t{text}\u00a0 \n"


async def test_a_key_may_begin_with_a_space_where_a_form_had_a_plus(stage: Stage, ada: Person) -> None:
    auth = b"\xfb" * 16
    assert (await ada.post(PATH, form(auth=f" {base64.b64encode(auth).decode()[1:]}"))).status == 200
    assert await stage.rows("SELECT auth FROM push_subscriptions") == [[auth]]


@pytest.mark.parametrize("written_as", [on_lines, in_a_form, pasted])
async def test_keys_may_have_gone_through_mails_and_forms(
    stage: Stage, ada: Person, written_as: Callable[[str], str]
) -> None:
    key = next(made for made in iter(point, None) if b"+" in base64.b64encode(made)[:76])
    auth = b"\xfb\xef\xbe" * 5 + b"x"
    sent = form(p256dh=written_as(base64.b64encode(key).decode()), auth=written_as(base64.b64encode(auth).decode()))
    assert (await ada.post(PATH, sent)).status == 200
    assert await stage.rows("SELECT p256dh, auth FROM push_subscriptions") == [[key, auth]]


WRONG: list[tuple[dict[str, Any], int, str]] = [
    ({"endpoint": None}, 400, "endpoint"),
    ({"p256dh": None}, 400, "p256dh"),
    ({"auth": ""}, 400, "auth"),
    ({"endpoint": "http://push.example/"}, 422, "Validation failed: Endpoint is invalid"),
    ({"endpoint": "https://push.example:25/"}, 422, "Validation failed: Endpoint is invalid"),
    ({"endpoint": "https://u@push.example/"}, 422, "Validation failed: Endpoint is invalid"),
    ({"endpoint": "https://127.0.0.1/"}, 422, "Validation failed: Endpoint is invalid"),
    ({"endpoint": "https://[::1]/"}, 422, "Validation failed: Endpoint is invalid"),
    ({"endpoint": "https://0x7f.1/"}, 422, "Validation failed: Endpoint is invalid"),
    ({"endpoint": "https://inside.example/"}, 422, "Validation failed: Endpoint is invalid"),
    ({"endpoint": "push.example"}, 422, "Validation failed: Endpoint is invalid"),
    ({"endpoint": "https://push.example/" + "x" * 2048}, 422, "Validation failed: Endpoint is too long"),
    ({"p256dh": "x"}, 422, "Validation failed: P256dh is invalid"),
    ({"p256dh": "ÄÖÜ"}, 422, "Validation failed: P256dh is invalid"),
    ({"p256dh": written(b"\x04" + b"\1" * 64)}, 422, "Validation failed: P256dh is invalid"),
    ({"p256dh": written(point(ec.SECP384R1()))}, 422, "Validation failed: P256dh is invalid"),
    ({"p256dh": P256DH + "AAAA"}, 422, "Validation failed: P256dh is invalid"),
    ({"auth": written(b"x" * 15)}, 422, "Validation failed: Auth is invalid"),
    ({"auth": written(b"x" * 17)}, 422, "Validation failed: Auth is invalid"),
    ({"auth": "A" * 10_000}, 422, "Validation failed: Auth is invalid"),
    ({"data[policy]": "friends"}, 422, "Validation failed: Policy is not included in the list"),
    ({"subscription": "x"}, 422, "Validation failed: Subscription is invalid"),
]


@pytest.mark.parametrize(("wrong", "status", "text"), WRONG)
async def test_a_wrong_subscription_is_refused(
    stage: Stage, ada: Person, wrong: dict[str, Any], status: int, text: str
) -> None:
    fields = wrong if "subscription" in wrong else form(**wrong)
    refused = await ada.post(PATH, fields)
    assert (refused.status, text in refused.json["error"]) == (status, True), refused.text
    assert await stage.rows("SELECT FROM push_subscriptions") == []


async def test_a_subscription_dies_with_its_token(stage: Stage, ada: Person) -> None:
    application = await stage.application()
    await ada.post(PATH, form())
    await stage.sql(
        "UPDATE access_tokens SET application_id = $1 WHERE account_id = $2", application.id, ada.account.id
    )
    credentials = {"client_id": application.client_id, "client_secret": "application secret", "token": ada.token}
    assert (await ada.post("/oauth/revoke", credentials)).status == 200
    assert await stage.rows("SELECT FROM push_subscriptions") == []


async def test_the_secrets_of_a_device_are_shown_to_nobody(stage: Stage, ada: Person) -> None:
    await ada.post(PATH, form())
    shown = (await ada.get(PATH)).text
    assert AUTH not in shown
    assert P256DH not in shown
    assert str(ada.token) not in shown
