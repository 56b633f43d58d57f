"""The sources of the metrics: they are in the parts of the server, which count for themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...actors.deliveries.sender import DeliverySender
from ...actors.kernel import Clock
from ...actors.mail.sender import MailSender
from ...actors.push.sender import PushSender
from ...http.access.context import HttpContext
from ..actor_system import ActorSystem
from ..database import SupervisedDatabase
from ..disks import Disks
from ..log import SupervisionLog
from ..pauses import CollectorPauses, LoopLag
from ..stalls import StallWatch
from ..supervisor import Child


@dataclass(frozen=True, slots=True)
class Sources:
    """The parts that are asked. A sender is None if nothing is sent, as mails without a mail server."""

    clock: Clock
    log: SupervisionLog
    http: HttpContext
    actors: ActorSystem
    database: SupervisedDatabase
    disks: Disks
    mail: MailSender | None
    push: PushSender | None
    deliveries: DeliverySender | None
    children: Callable[[], list[Child]]
    pauses: CollectorPauses
    stalls: StallWatch
    lag: LoopLag = field(default_factory=LoopLag)
