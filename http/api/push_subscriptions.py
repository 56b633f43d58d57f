"""Push subscriptions: the address at which the device with a token gets notifications."""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from typing import Annotated

from pydantic import AfterValidator, Field

from ...actors.outgoing.messages import ForbiddenTarget
from ...actors.outgoing.targets import LONGEST_URL
from ...storage import push_subscriptions
from ...storage.push_subscriptions import ALERTS, NewPushSubscription, Policy, PushSubscription
from ..access.authentication import REVOKED, Viewer, secret_of
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound, Unauthorized, invalid
from ..entities.application import push_subscription_fields
from ..intake.parameters import Choice, Flag, Given, Input, Maybe
from ..intake.request import LARGEST_BODY, Request
from ..router import api

PATH = "/api/v1/push/subscription"
AUTH_BYTES = 16
POINT_BYTES = 65  # of a point on P-256, uncompressed
LONGEST_KEY = 256  # characters that are read: more than any key has, with line ends
LINE_END = re.compile(r"[^\S ]+")  # also tabs and spaces of other scripts
USUAL = str.maketrans("+ /", "--_")


def decoded(text: str, size: int) -> bytes:
    """Return `size` bytes of base64url. The usual base64 and its padding are taken too, which some apps send.

    It may be on several lines (RFC 2045), have white space around it, and have spaces where a form that was not escaped
    had a `+`. Raises ValueError.
    """
    text = text[:LONGEST_KEY]
    for written in (text.strip(), text):  # a space at an end may be a `+` too
        with suppress(ValueError):
            if len(found := _bytes_of(written)) == size:
                return found
    raise ValueError("is invalid")


def _bytes_of(text: str) -> bytes:
    text = LINE_END.sub("", text).rstrip("=").translate(USUAL)
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", text):
        raise ValueError
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _secret(text: str) -> str:
    decoded(text, AUTH_BYTES)
    return text


def _point(text: str) -> str:
    point = decoded(text, POINT_BYTES)
    from cryptography.hazmat.primitives.asymmetric import ec  # late: 10 ms, 7.5 MiB, and few clients subscribe

    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise ValueError("is invalid") from None
    return text


class DeviceKeys(Input):
    p256dh: Annotated[Given, AfterValidator(_point)]
    auth: Annotated[Given, AfterValidator(_secret)]


class DeviceEndpoint(Input):
    endpoint: Annotated[Given, Field(max_length=LONGEST_URL)]
    keys: DeviceKeys
    standard: Flag = False


class Alerts(Input):
    mention: Flag = False
    status: Flag = False
    reblog: Flag = False
    follow: Flag = False
    follow_request: Flag = False
    favourite: Flag = False
    poll: Flag = False
    update: Flag = False
    quote: Flag = False
    quoted_update: Flag = False
    admin_sign_up: Annotated[Flag, Field(alias="admin.sign_up")] = False
    admin_report: Annotated[Flag, Field(alias="admin.report")] = False

    @property
    def wanted(self) -> tuple[str, ...]:
        given = self.model_dump(by_alias=True)
        return tuple(alert for alert in ALERTS if given[alert])


class RequestedAlerts(Input):
    alerts: Annotated[Alerts, Maybe] = Alerts()
    policy: Annotated[Policy | None, Choice] = None


NOTHING = RequestedAlerts()


class SubscriptionChange(RequestedAlerts):
    """The alerts and the policy. Some clients send them outside of `data`, as in the entity."""

    data: Annotated[RequestedAlerts, Maybe] = NOTHING

    @property
    def chosen_alerts(self) -> tuple[str, ...]:
        return (self.data.alerts if "alerts" in self.data.model_fields_set else self.alerts).wanted

    @property
    def chosen_policy(self) -> Policy:
        return self.data.policy or self.policy or "all"


class DeviceSubscription(SubscriptionChange):
    subscription: DeviceEndpoint


@api.post(PATH, auth="user", scopes=("push",), returns="WebPushSubscription")
async def subscribe(context: HttpContext, request: Request, viewer: Viewer, wanted: DeviceSubscription) -> Answer:
    """Send notifications to a device. It replaces an earlier device of this token."""
    device = wanted.subscription
    try:
        target = await context.outgoing.check(device.endpoint, free_ports=True)
    except ForbiddenTarget:
        raise invalid("Endpoint is invalid") from None
    new = NewPushSubscription(
        viewer.token.id,
        account_id=viewer.account_id,
        access_token=await secret_of(request, LARGEST_BODY) or "",
        endpoint=device.endpoint,  # not normalized, because clients compare it with their own endpoint
        service=target.host,
        p256dh=decoded(device.keys.p256dh, POINT_BYTES),
        auth=decoded(device.keys.auth, AUTH_BYTES),
        standard=device.standard,
        alerts=wanted.chosen_alerts,
        policy=wanted.chosen_policy,
    )
    made = await context.database.transact(push_subscriptions.replace, new, context.clock.now())
    if made is None:
        raise Unauthorized(REVOKED)
    return _answer(context, made)


@api.get(PATH, auth="user", scopes=("push",), returns="WebPushSubscription")
async def show(context: HttpContext, viewer: Viewer) -> Answer:
    """The subscription of this token."""
    return _answer(context, await context.database.read(push_subscriptions.find, viewer.token.id))


@api.put(PATH, auth="user", scopes=("push",), returns="WebPushSubscription")
async def change(context: HttpContext, viewer: Viewer, wanted: SubscriptionChange) -> Answer:
    """Change the alerts and the policy. An alert that is not given is turned off."""
    alerts, policy = wanted.chosen_alerts, wanted.chosen_policy
    return _answer(
        context,
        await context.database.transact(push_subscriptions.change, viewer.token.id, alerts, policy),
    )


@api.delete(PATH, auth="user", scopes=("push",), returns="{}")
async def unsubscribe(context: HttpContext, viewer: Viewer) -> Answer:
    """Remove the subscription of this token."""
    await context.database.transact(push_subscriptions.delete, viewer.token.id)
    return json({})


def _answer(context: HttpContext, found: PushSubscription | None) -> Answer:
    if found is None:
        raise NotFound("Not Found")
    return json(
        push_subscription_fields(found, context.push_key.public, id_as_number=context.settings.push_id_as_number)
    )
