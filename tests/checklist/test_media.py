"""The seed checklist's rows on media."""

from ..clients import Person, Stage
from ..http.uploading import attach, fetched, files_removed, picture, uploaded
from .rows import rows

A_DAY_AGO = "UPDATE media_attachments SET updated_at = updated_at - interval '1 day' WHERE id = $1"


@rows("S005", "S049")
async def test_a_status_shows_its_media_in_the_order_given(ada: Person) -> None:
    first, second = await uploaded(ada), await uploaded(ada, picture(20, 20))
    status = await attach(ada, second, first)
    assert [one["id"] for one in status["media_attachments"]] == [second["id"], first["id"]]
    assert status["media_attachments"][1]["url"] == first["url"]


@rows("S051", "S195")
async def test_a_description_is_set_at_creation(ada: Person) -> None:
    for path in ("/api/v1/media", "/api/v2/media"):
        assert (await uploaded(ada, path=path, description="a noisy square"))["description"] == "a noisy square"


@rows("S052")
async def test_a_description_is_changed_while_unattached(ada: Person) -> None:
    medium = await uploaded(ada, description="before")
    changed = await ada.done("PUT", f"/api/v1/media/{medium['id']}", form={"description": "after"})
    assert changed == medium | {"description": "after"}
    assert (await ada.get(f"/api/v1/media/{medium['id']}")).json == changed


@rows("S053")
async def test_media_have_a_focal_point(ada: Person) -> None:
    medium = await uploaded(ada, focus="0.5,-0.5")
    assert medium["meta"]["focus"] == {"x": 0.5, "y": -0.5}
    moved = await ada.send("PUT", f"/api/v1/media/{medium['id']}", form={"focus": "-1.0,0"})
    assert moved.json["meta"] == medium["meta"] | {"focus": {"x": -1.0, "y": 0.0}}


@rows("S100")
async def test_media_of_a_deleted_status_can_be_posted_again(ada: Person) -> None:
    medium = await uploaded(ada)
    status = await attach(ada, medium, text="typo")
    deleted = await ada.delete(f"/api/v1/statuses/{status['id']}")
    assert [one["id"] for one in deleted.json["media_attachments"]] == [medium["id"]]
    again = await attach(ada, medium, text="no typo")
    assert again["media_attachments"] == status["media_attachments"]


@rows("S101")
async def test_unattached_media_go_after_a_day(stage: Stage, ada: Person) -> None:
    old, fresh, used = await uploaded(ada), await uploaded(ada), await uploaded(ada)
    await attach(ada, used, text="kept")
    for medium in (old, used):
        await stage.sql(A_DAY_AGO, int(medium["id"]))
    await stage.http_context.media.cleaning.clean()
    await files_removed(stage)
    assert stage.told("media.cleaned") == [{"decision": "removed 1 attachments in no post"}]
    assert (await ada.get(f"/api/v1/media/{old['id']}")).status == 404
    assert (await ada.get(f"/api/v1/media/{fresh['id']}")).status == 200
    for medium, status in ((old, 404), (fresh, 200), (used, 200)):
        assert (await fetched(ada, medium["url"])).status == status
        assert (await fetched(ada, medium["preview_url"])).status == status


@rows("S196")
async def test_attached_media_are_not_changed(ada: Person) -> None:
    medium = await uploaded(ada, description="before")
    status = await attach(ada, medium)
    path = f"/api/v1/media/{medium['id']}"
    assert (await ada.send("PUT", path, form={"description": "after"})).status == 404
    assert (await ada.get(path)).status == 404
    shown = (await ada.get(f"/api/v1/statuses/{status['id']}")).json
    assert shown["media_attachments"] == [medium]


@rows("S197")
async def test_media_of_another_account_are_not_there(ada: Person, bob: Person) -> None:
    medium = await uploaded(ada, description="before")
    path = f"/api/v1/media/{medium['id']}"
    for method in ("GET", "PUT", "DELETE"):
        refused = await bob.send(method, path, **({"form": {"description": "mine"}} if method == "PUT" else {}))
        assert (refused.status, refused.json) == (404, {"error": "Record not found"})
    assert (await ada.get(path)).json == medium
