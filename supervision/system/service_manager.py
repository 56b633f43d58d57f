"""Messages of the server to systemd: that it is ready, stops, or still works (sd_notify(3)).

systemd names a datagram socket in NOTIFY_SOCKET. With WATCHDOG_USEC it ends the server, and starts it again, unless it
hears of it that often: so a server whose event loop hangs for good does not stay. Without systemd nothing is sent.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping

import trio

PATIENCE = 1.0  # seconds
READY, STOPPING, WORKING = "READY=1", "STOPPING=1", "WATCHDOG=1"


class ServiceManager:
    """Notifies systemd. Removes its variables from the environment, so that no child process notifies for this one."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._address = environment.pop("NOTIFY_SOCKET", "")
        process, microseconds = environment.pop("WATCHDOG_PID", ""), environment.pop("WATCHDOG_USEC", "")
        ours = process in ("", str(os.getpid())) and microseconds.isdecimal()
        #: Seconds after which systemd ends a server that is silent; 0 if it does not watch.
        self.patience = int(microseconds) / 1e6 if ours else 0.0

    def notify(self, *lines: str) -> None:
        """Send lines. An error is ignored: systemd acts by itself when notifications are missing."""
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            # The queue of the other side may be full for a moment. Only a notification that is repeated may be lost.
            sender.settimeout(0 if lines == (WORKING,) else PATIENCE)
            try:
                sender.sendto("\n".join(lines).encode(), address)
            except OSError:
                return

    async def watch(self) -> None:
        """Say again and again that the event loop works, without end, also while the server starts and stops."""
        while self._address and self.patience:
            self.notify(WORKING)
            await trio.sleep(self.patience / 3)
