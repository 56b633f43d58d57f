"""Short messages from another program on this database to the server, such as `token:…` from the command line."""

from .database import Connection

CHANNEL = "troupe"

NOTIFY = "SELECT pg_notify($1, $2)"


async def send(db: Connection, payload: str) -> None:
    """Send the server a message. It arrives when the transaction commits."""
    await db.execute(NOTIFY, CHANNEL, payload)
