"""A fault in the database that crashes one kind of message, for as long as it is there."""

from __future__ import annotations

from troupe.storage.engine.connect import connect
from troupe.storage.engine.connect import run as run_alone
from troupe.storage.engine.database import Connection
from troupe.storage.engine.embedded import embedded

from .. import plain_http
from .browser import Form
from .patience import PATIENCE
from .server import Person, Server

BREAK = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no mails for ada@example.org'; END $$;
    CREATE TRIGGER refused BEFORE INSERT ON outbox FOR EACH ROW WHEN (NEW.queue = 'mail') EXECUTE FUNCTION refuse();
"""
REPAIR = "DROP TRIGGER refused ON outbox"


def database(server: Server) -> str:
    with embedded(server.data) as postgres:
        return postgres.dsn


def each_alone(dsn: str, *statements: str) -> None:
    """Run statements on one connection, without a transaction around them."""

    async def main() -> None:
        connection = await connect(dsn, application_name="test")
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    run_alone(main)


async def run(db: Connection, statements: str) -> None:
    await db.execute(statements)


def forget_password(server: Server, person: Person, request_id: str) -> None:
    """Ask on the page for a mail with a link."""
    with plain_http.client(base_url=server.url, timeout=PATIENCE) as browser:
        form = Form.on(browser.get("/auth/password/new").text)
        typed = form.fields | {"email": f"{person.name}@example.org"}
        sent = browser.post(form.action, data=typed, headers={"X-Request-Id": request_id})
    assert (sent.status_code, sent.headers["x-request-id"]) == (302, request_id)
