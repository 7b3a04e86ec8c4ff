"""What is there when an API process begins to serve is none of the garbage collector's business."""

import gc
import socket

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from service.stalled import Patience
from service.supervisor.api import Main

pytestmark = pytest.mark.anyio


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that is never asked."""


async def test_collections_pass_over_what_was_there_when_the_server_started() -> None:
    server = Main(uvicorn.Config(nothing, lifespan="off", log_config=None), Patience(silent=1, headers=1))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    kept = [object() for _ in range(3)]
    before = gc.get_freeze_count()
    with socket.create_server(("127.0.0.1", 0)) as bound:
        await server.startup([bound])
        try:
            assert gc.get_freeze_count() > before + len(gc.get_objects())
            assert not any(kept is one for one in gc.get_objects())
        finally:
            gc.unfreeze()
            for one in server.servers:
                one.close()
