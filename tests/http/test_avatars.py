"""Accounts without a picture have one that tells them apart."""

from typing import Any

import pytest
import pyvips

from troupe.actors.kernel import Ids, SystemClock
from troupe.http.pictures import avatars

from ..clients import BASE, Person, Stage

SIZE = 240


async def avatar_of(person: Person) -> str:
    account = (await person.get(f"/api/v1/accounts/{person.id}")).json
    assert account["avatar"] == account["avatar_static"]
    return account["avatar"]


async def test_two_accounts_without_a_picture_look_different_and_stay_the_same(
    stage: Stage, ada: Person, bob: Person
) -> None:
    pictures: dict[str, bytes] = {}
    for person in (ada, bob):
        address = await avatar_of(person)
        answer = await stage.anybody().get(address.removeprefix(BASE))
        assert (answer.status, answer.headers["Content-Type"]) == (200, "image/png")
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        pictures[address] = answer.body
    assert len(set(pictures.values())) == 2
    await ada.put("/api/v1/accounts/update_credentials", {"display_name": "Ada L."})
    assert await avatar_of(ada) in pictures
    status = await ada.publish("hi")
    assert status["account"]["avatar"] == await avatar_of(ada)


async def test_of_a_suspended_account_not_even_the_drawn_picture_is_shown(stage: Stage, ada: Person) -> None:
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", ada.account.id)
    found = (await stage.anybody().get("/api/v1/accounts/lookup?acct=ada")).json
    assert found["avatar"] == found["avatar_static"] == f"{BASE}/avatars/original/missing.png"


@pytest.mark.parametrize(
    "name", ["00000.png", "0.png", "00FG.png", "abcd.svg", "abcd.png.png", "..", "%D9%A0%D9%A0%D9%A0%D9%A0.png"]
)
async def test_what_is_no_seed_has_no_picture(stage: Stage, name: str) -> None:
    answer: Any = await stage.anybody().get(f"/avatars/original/{name}")
    assert answer.status == 404


def test_few_accounts_share_a_picture() -> None:
    ids = Ids(SystemClock())
    paths = [avatars.avatar_path(ids.next()) for _ in range(300)]
    assert len(set(paths)) > 290
    drawn = {avatars.draw(int(path[-8:-4], 16)) for path in paths[:100]}
    assert len(drawn) > 95


@pytest.mark.parametrize("seed", [0, 1, 0x7FFF, 0xFFFF])
def test_a_picture_is_a_small_symmetric_png(seed: int) -> None:
    picture = avatars.draw(seed)
    assert len(picture) < 8 * 1024
    image = pyvips.Image.new_from_buffer(picture, "", fail_on="warning")
    assert (image.width, image.height) == (SIZE, SIZE)
    for mirrored in (image.fliphor(), image.flipver()):
        assert (image - mirrored).abs().max() == 0
    assert image.deviate() > 5


def test_asking_for_every_picture_fills_no_memory() -> None:
    for seed in range(avatars.KEPT + 50):
        avatars.draw(seed)
    assert avatars.draw.cache_info().currsize == avatars.KEPT
