"""Start the explorer's server on 127.0.0.1, and stop it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from spectrawalk.errors import MissingDependencyError, ParameterError

if TYPE_CHECKING:
    from spectrawalk.explore.runs import Opened

HOST = "127.0.0.1"
PORT = 8765
KEY = ".explore-key"
"""File beside the session that keeps the cookie, readable by its owner only."""

_TRIES = 100


def check_installed() -> None:
    """Say how to get the libraries that the explorer needs, if one is missing."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"the explorer lacks {', '.join(missing)}; get what it needs with "
            '`pip install "spectrawalk[explore]"`.'
        )


def bind(port: int) -> socket.socket:
    """Listen on a port of 127.0.0.1, or on the next one that is free; 0 is any.

    Examples
    --------
    >>> with bind(0) as first, bind(first.getsockname()[1]) as second:
    ...     first.getsockname()[0], first.getsockname()[1] < second.getsockname()[1]
    ('127.0.0.1', True)
    """
    last = min(port + _TRIES, 2**16)
    for each in range(port, last):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name == "posix":
            # A server that has just ended still occupies the port otherwise, and open pages would
            # look for the new one in vain. On Windows this would share ports that are in use.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, each))
            listener.listen(128)
        except OSError:
            listener.close()
            continue
        return listener
    raise ParameterError(f"port={port} and those up to {last - 1} are in use; give another one.")


def serve(
    open_run: Callable[[], Opened],
    port: int,
    home: Path,
    ready: Callable[[str], None],
    failed: Callable[[str], None],
) -> bool:
    """Serve the explorer until Ctrl-C.

    Parameters
    ----------
    open_run : callable
        Gives the run to show. Called in a thread, while the page shows the progress.
    port : int
        First port to try.
    home : Path
        Folder of the session.
    ready : callable
        Called with the address to open.
    failed : callable
        Called with the sentence that says why there is nothing to show. The page shows it too.

    Returns
    -------
    bool
        Whether there was a run to show.
    """
    check_installed()
    import uvicorn

    from spectrawalk.explore.opening import Opening
    from spectrawalk.explore.security import Keys
    from spectrawalk.explore.server import application

    with bind(port) as listener:
        taken = listener.getsockname()[1]
        keys = Keys(taken, home / KEY)

        def opened(error: str | None) -> None:
            if error is None:
                keys.keep()  # not before: the folder is made with the results
            else:
                failed(error)

        opening = Opening(open_run, opened)
        config = uvicorn.Config(
            application(opening, keys),
            log_level="error",
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=3,
        )
        # The socket listens already: a browser that comes early waits.
        ready(f"http://{HOST}:{taken}/?token={keys.token}")
        opening.start()
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            pass  # the way to stop it
        finally:
            opening.stop()
        return not opening.failed
