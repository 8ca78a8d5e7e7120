"""Images that operators request from a running worker."""

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
    """The shard to copy; all shards of the worker, if none is named."""

    shard: int | None = None


def images_route(worker: Worker, tokens: Tokens) -> BaseRoute:
    """The route whose POST makes images and answers when they are ready. The worker's stores
    don't change.
    """

    async def make(request: Request, by: Holder) -> list[Manifest]:
        wanted = await body_of(request, WantedImages)
        log.warning(
            "administration", who=by.name, address=by.address, what="image", shard=wanted.shard
        )
        return await worker.make_images(wanted.shard)

    return admin_route(PATH, "POST", tokens, make)
