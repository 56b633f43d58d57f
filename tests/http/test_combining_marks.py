"""No text that people write comes into a row with more combining marks on a letter than a script needs."""

from typing import Any

import pytest

from ..clients import Person, Stage
from .registering import ACCOUNTS, OPEN, app_client, form
from .uploading import part, picture

TALL = "z" + "\u0301" * 30
MARKED = "z" + "\u0301" * 8
COLUMNS = """
    SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = 'public' AND (data_type IN ('text', 'jsonb') OR udt_name = '_text')
"""


@pytest.fixture
def options() -> dict[str, Any]:
    return OPEN


async def write_everywhere(stage: Stage, ada: Person, bob: Person) -> None:
    """Send the text through every parameter that takes what people write."""
    fields = [{"name": TALL, "value": TALL}]
    profile = {"display_name": TALL, "note": TALL, "fields_attributes": fields, "avatar_description": TALL}
    medium = (await ada.post("/api/v2/media", {"description": TALL}, files={"file": part(picture(8, 8))})).json["id"]
    poll = {"options": [TALL, TALL + "2"], "expires_in": 300}
    status = {"status": f"{TALL} #{TALL}", "spoiler_text": TALL}
    later = {"scheduled_at": "2100-01-01T00:00:00Z"}
    for method, path, body in (
        ("PATCH", "/api/v1/accounts/update_credentials", profile | {"header_description": TALL}),
        ("POST", "/api/v1/statuses", status | {"poll": poll}),
        ("POST", "/api/v1/statuses", status | {"poll": poll} | later),
        ("POST", "/api/v1/statuses", {"status": f"{TALL} <b>{TALL}</b>", "content_type": "text/html"}),
        ("POST", "/api/v1/statuses", {"status": f"*{TALL}*", "content_type": "text/markdown"}),
        ("PUT", f"/api/v1/media/{medium}", {"description": f"{TALL} again"}),
        ("POST", "/api/v1/lists", {"title": TALL}),
        ("POST", f"/api/v1/accounts/{bob.id}/note", {"comment": TALL}),
        ("POST", "/api/v1/featured_tags", {"name": TALL}),
        ("POST", f"/api/v1/tags/a{TALL}/feature", {}),
        (
            "POST",
            "/api/v1/apps",
            {"client_name": TALL, "redirect_uris": "a://b", "website": f"https://a.example/{TALL}"},
        ),
    ):
        answer = await ada.send(method, path, json=body)
        assert answer.status == 200, f"{path}: {answer.text}"
    made = await ada.publish("first")
    edit = {"media_ids": [medium], "media_attributes": [{"id": medium, "description": f"{TALL} in an edit"}]}
    answer = await ada.send("PUT", f"/api/v1/statuses/{made['id']}", json=status | edit)
    assert answer.status == 200, answer.text
    signing_up = await (await app_client(stage)).post(ACCOUNTS, form(reason=TALL))
    assert signing_up.status == 200, signing_up.text


async def test_no_row_holds_more_marks_than_a_script_needs(stage: Stage, ada: Person, bob: Person) -> None:
    await write_everywhere(stage, ada, bob)
    holding: set[str] = set()
    for table, column in await stage.rows(COLUMNS):
        name = f"{table}.{column}"
        for (value,) in await stage.rows(f'SELECT "{column}"::text FROM "{table}"'):
            written = (value or "").replace("\\u0301", "\u0301")
            assert MARKED + "\u0301" not in written, name
            if MARKED in written:
                holding.add(name)
    assert holding >= {
        "accounts.display_name", "accounts.note", "accounts.note_source", "accounts.fields",
        "accounts.avatar_description", "accounts.header_description", "statuses.text", "statuses.content",
        "statuses.spoiler_text", "poll_options.title", "media_attachments.description", "tags.display_name",
        "status_edits.text", "featured_tags.display_name", "lists.title", "account_notes.comment",
        "applications.name", "applications.website", "users.invite_request",
    }  # fmt: skip
