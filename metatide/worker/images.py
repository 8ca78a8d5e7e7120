"""Images that operators want of a running worker now."""

from typing import Final

import msgspec
import structlog
from starlette.requests import Request
from starlette.routing import BaseRoute

from processors.worker import Worker
from query_api.http.access import Tokens
from query_api.http.authorization import Holder
from query_api.http.routes import admin_route, body_of
from state.image import Manifest

PATH: Final = "/v1/images"

log = structlog.get_logger(__name__)


class WantedImages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of which shard; of all that the worker has, where none is named."""

    shard: int | None = None


def images_route(worker: Worker, tokens: Tokens) -> BaseRoute:
    """POST answers when they are made. They change nothing of what the worker holds."""

    async def make(request: Request, by: Holder) -> list[Manifest]:
        wanted = await body_of(request, WantedImages)
        log.warning(
            "administration", who=by.name, address=by.address, what="image", shard=wanted.shard
        )
        return await worker.make_images(wanted.shard)

    return admin_route(PATH, "POST", tokens, make)
