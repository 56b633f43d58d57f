"""Sign-ins from any address, in tests."""

from urllib.parse import urlencode

from troupe.storage.oauth import Application

from ..clients import Reply, Stage
from .signing_in import SECRET, asked, hidden


class Guest:
    """A client at an address that tries to sign in on the page and by the password grant."""

    def __init__(self, stage: Stage, application: Application, address: str) -> None:
        self._client = stage.anybody()
        self._application = application
        self._headers = {"X-Forwarded-For": address}

    async def page(self, login: str, password: str) -> int:
        """302 if signed in, 200 if asked again, 429."""
        query = urlencode(asked(self._application))
        form = hidden(await self._client.get(f"/oauth/authorize?{query}", headers=self._headers))
        typed = form | {"username": login, "password": password}
        return (await self._client.post("/oauth/authorize", typed, headers=self._headers)).status

    async def grant(self, login: str, password: str) -> Reply:
        client = {"client_id": self._application.client_id, "client_secret": SECRET}
        form = {"grant_type": "password", "username": login, "password": password} | client
        return await self._client.post("/oauth/token", form, headers=self._headers)
