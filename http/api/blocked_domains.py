"""The domains that the server blocks, for those who may read them by the operator's choice."""

from __future__ import annotations

from ...storage import server_blocks
from ...storage.blocked_domains import BlockedDomain
from ..access.authentication import USER_REQUIRED, Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound, Unauthorized
from ..entities.server_block import public_domain_fields
from ..router import api


@api.get("/api/v1/instance/domain_blocks")
async def show_public(context: HttpContext, viewer: Viewer | None) -> Answer:
    """The blocks that limit what users see, the strictest first. As in Mastodon, the operator chooses to show them."""
    match context.settings.domain_blocks_shown:
        case "nobody":
            raise NotFound
        case "users" if viewer is None:
            raise Unauthorized(USER_REQUIRED)
        case _:
            pass
    commented = context.settings.domain_blocks_comments
    with_comment = commented == "public" or (commented == "users" and viewer is not None)
    shown = [
        one for one in await context.database.read(server_blocks.find_all, BlockedDomain) if one.severity != "noop"
    ]
    return json([public_domain_fields(one, with_comment=with_comment) for one in sorted(shown, key=_mildest_first)])


def _mildest_first(block: BlockedDomain) -> tuple[bool, str]:
    return block.severity != "suspend", block.domain
