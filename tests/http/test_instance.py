"""What the server says about itself."""

from .conftest import Stage


async def test_numbers_are_counted_now_and_then(stage: Stage) -> None:
    ada = await stage.person("ada")
    await ada.publish("hi")
    first = (await stage.anybody().get("/api/v1/instance")).json["stats"]
    assert first == {"user_count": 1, "status_count": 1, "domain_count": 0}
    await ada.publish("again")
    assert (await stage.anybody().get("/api/v1/instance")).json["stats"] == first


async def test_pictures_of_nobody_are_pictures(stage: Stage) -> None:
    for path in ("/avatars/original/missing.png", "/headers/original/missing.png", "/thumbnail.png"):
        answer = await stage.anybody().get(path)
        assert answer.body.startswith(b"\x89PNG\r\n\x1a\n")
        assert answer.headers["Content-Type"] == "image/png"
        assert answer.headers["Cache-Control"] == "public, max-age=86400"


async def test_people_who_come_by_browser_find_a_page(stage: Stage) -> None:
    for path in ("/", "/about"):
        page = await stage.anybody().get(path)
        assert "localhost:3000" in page.text
    style = await stage.anybody().get("/oauth/style.css")
    assert style.headers["Content-Type"].startswith("text/css")
    assert "prefers-color-scheme: dark" in style.text
