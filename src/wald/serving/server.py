"""uvicorn, with a stop that loses no accepted request and a reload on SIGHUP."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import Any

import uvicorn

#: Seconds in which connections that are kept alive are told to close, before the server closes them.
DRAIN = 0.5
_LOG = logging.getLogger("uvicorn.error")


class GracefulServer(uvicorn.Server):
    """uvicorn's server; at the first signal it takes no more connections, and closes each after its next answer."""

    _loop: asyncio.AbstractEventLoop | None = None
    _stopping = False

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen, and to reload on SIGHUP."""
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        if hasattr(signal, "SIGHUP"):
            self._loop.add_signal_handler(signal.SIGHUP, self._reload)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop gracefully at the first signal, at once at the second."""
        if self._loop is None or self._stopping:
            super().handle_exit(sig, frame)
            return
        self._stopping = True
        self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self.config.loaded_app.draining = True
        for server in self.servers:
            server.close()
        assert self._loop is not None
        self._loop.call_later(DRAIN, self._end)

    def _end(self) -> None:
        self.should_exit = True

    def _reload(self) -> None:
        self._reloading = asyncio.get_running_loop().create_task(self._load_anew())

    async def _load_anew(self) -> None:
        try:
            await self.config.loaded_app.reload()
        except Exception as error:  # the old model goes on answering
            _LOG.error("the model could not be loaded anew, the old one goes on: %s", error)
        else:
            _LOG.info("the model was loaded anew")
