"""What a server keeps is its owner's alone, and a folder that its PostgreSQL cannot reach is refused in one line."""

import base64
import os
import stat
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from .. import plain_http
from .server import Server

NO_DATABASE = 69
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db0"
    "0000000049454e44ae426082"
)


def test_everything_that_a_server_keeps_is_closed_to_others(new_server: Server, tmp_path: Path) -> None:
    new_server.start()
    (ada,) = new_server.people("ada")
    picture = tmp_path / "a.png"
    picture.write_bytes(PICTURE)
    medium = ada.app.media_post(picture, mime_type="image/png")
    ada.app.status_post("look", media_ids=[medium])
    kept = [new_server.data, *new_server.data.rglob("*")]
    assert [str(path) for path in kept if stat.S_IMODE(path.lstat().st_mode) & 0o077] == []
    assert {"control-main.sock", "base_url", "media"} <= {path.name for path in kept}
    assert new_server.stop() == 0


def test_the_push_key_of_an_earlier_version_moves_out_of_the_data_folder(own_server: Server) -> None:
    """Clients see the same key as before, so that their subscriptions stay valid."""
    key, file = ec.generate_private_key(ec.SECP256R1()), own_server.data / "vapid.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    own_server.start()
    shown = plain_http.get(f"{own_server.url}/api/v2/instance").json()["configuration"]["vapid"]
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    assert shown["public_key"] == base64.urlsafe_b64encode(point).decode().rstrip("=")
    assert not file.exists()


def test_data_below_a_closed_folder_is_refused_in_one_line(new_server: Server) -> None:
    new_server.data = new_server.data.parent / "closed" / "data"
    closed = new_server.data.parent
    closed.mkdir()
    bits = 0o700 if os.geteuid() == 0 else 0o000
    closed.chmod(bits)
    refused = new_server.troupe("serve")
    assert refused.returncode == NO_DATABASE
    assert len(refused.stderr.splitlines()) == 1
    assert str(closed) in refused.stderr
    assert stat.S_IMODE(closed.stat().st_mode) == bits
    closed.chmod(0o700)
