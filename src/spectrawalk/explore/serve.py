"""Start the explorer's server on 127.0.0.1, and stop it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib.util import find_spec

from spectrawalk.errors import MissingDependencyError, ParameterError
from spectrawalk.explore.runs import Opened

HOST = "127.0.0.1"
PORT = 8765
_TRIES = 100


def check_installed() -> None:
    """Say how to get the libraries that the explorer needs, if one is missing."""
    missing = [name for name in ("starlette", "uvicorn", "plotly") if find_spec(name) is None]
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
        try:
            listener.bind((HOST, each))
            listener.listen(128)
        except OSError:
            listener.close()
            continue
        return listener
    raise ParameterError(f"port={port} and those up to {last - 1} are in use; give another one.")


def serve(opened: Opened, port: int, ready: Callable[[str], None]) -> None:
    """Serve the explorer until Ctrl-C.

    Parameters
    ----------
    opened : Opened
        The run to show.
    port : int
        First port to try.
    ready : callable
        Called with the address to open.
    """
    check_installed()
    import uvicorn

    from spectrawalk.explore.runs import Runs
    from spectrawalk.explore.security import Keys
    from spectrawalk.explore.server import application

    with bind(port) as listener:
        taken = listener.getsockname()[1]
        keys, runs = Keys(taken), Runs(opened)
        config = uvicorn.Config(
            application(runs, keys),
            log_level="error",
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=3,
        )
        # The socket listens already: a browser that comes early waits.
        ready(f"http://{HOST}:{taken}/?token={keys.token}")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            pass  # the way to stop it
        finally:
            runs.stop()
