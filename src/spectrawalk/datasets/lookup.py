"""Find the files of a published scene: on this machine first, then at their public home."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pooch

from spectrawalk import progress
from spectrawalk.datasets.registry import Origin, SceneFile
from spectrawalk.errors import FileError, SceneNotFoundError

PUBLIC_HOME = "https://www.ehu.eus/ccwintco/uploads"
DATA_VARIABLE = "SPECTRAWALK_DATA"
TIMEOUT_SECONDS = 30
_SHOWN_DIGITS = 12


def find_file(scene: str, origin: Origin, *alternatives: SceneFile) -> Path:
    """Find one file of `scene`, of which any of the `alternatives` will do.

    The order is: the folder that ``SPECTRAWALK_DATA`` names, an installed package that carries the
    file, the user's cache, a checked download into that cache.
    """
    local = find_local_file(origin, *alternatives)
    if local is not None:
        return local
    for file in alternatives:
        if file.address is not None and file.sha256 is not None:
            return _download(scene, origin, file)
    raise SceneNotFoundError(f"scene '{scene}' is not on this machine; {_advice(origin)}.")


def find_local_file(origin: Origin, *alternatives: SceneFile) -> Path | None:
    """Find one file on this machine, checked; None if it is not here."""
    for place in _places(origin):
        for file in alternatives:
            path = place / file.name
            if path.is_file():
                _check_sum(path, file)
                return path
    return None


def cache_folder() -> Path:
    """Folder of this user for downloaded scenes."""
    return Path(pooch.os_cache("spectrawalk")).expanduser()


def _data_folder() -> Path | None:
    value = os.environ.get(DATA_VARIABLE)
    return Path(value).expanduser() if value else None


def _places(origin: Origin) -> Iterator[Path]:
    """Yield the folders to look in, best first."""
    data = _data_folder()
    if data is not None:
        yield from _folders(data, origin)
    if origin.package_folder:
        package, *inside = origin.package_folder
        spec = find_spec(package)  # finds the package without running any of it
        for location in (spec.submodule_search_locations or ()) if spec else ():
            yield Path(location, *inside)
    yield from _folders(cache_folder(), origin)


def _folders(parent: Path, origin: Origin) -> tuple[Path, ...]:
    """Folders inside `parent`; names such as cube.tif mean nothing outside the scene's own."""
    own = parent / origin.folder
    return (own,) if origin.piece_of else (own, parent)


def _check_sum(path: Path, file: SceneFile) -> None:
    if file.sha256 is None:
        return
    found = pooch.file_hash(str(path), alg="sha256")
    if found != file.sha256:
        raise FileError(
            f"'{path}' is not the published file: its SHA-256 checksum begins with "
            f"{found[:_SHOWN_DIGITS]} instead of {file.sha256[:_SHOWN_DIGITS]}; delete or rename "
            "it and get it again."
        )


def _download(scene: str, origin: Origin, file: SceneFile) -> Path:
    url = f"{PUBLIC_HOME}/{file.address}"
    downloader = pooch.HTTPDownloader(
        progressbar=_Progress(f"download {file.name}"), timeout=TIMEOUT_SECONDS
    )
    try:
        with _quiet_pooch():
            return Path(
                pooch.retrieve(
                    url,
                    known_hash=f"sha256:{file.sha256}",
                    fname=file.name,
                    path=cache_folder() / origin.folder,
                    downloader=downloader,
                )
            )
    except OSError as error:  # the errors of the network are among them
        raise SceneNotFoundError(
            f"scene '{scene}' is not on this machine and '{url}' could not be downloaded "
            f"({_reason(error)}); {_advice(origin)}."
        ) from error
    except ValueError as error:
        raise FileError(
            f"'{url}' no longer has the checksum that begins with "
            f"{str(file.sha256)[:_SHOWN_DIGITS]}, so nothing was kept; try again later, or "
            f"{_advice(origin)}."
        ) from error


def _reason(error: OSError) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code}"
    if isinstance(error, PermissionError):
        return f"'{cache_folder()}' cannot be written"
    return error.strerror or "the connection failed or broke off"


def _advice(origin: Origin) -> str:
    data = _data_folder()
    files = " and ".join(origin.by_hand)
    elsewhere = f"a folder that the environment variable {DATA_VARIABLE} names"
    if data is not None:
        elsewhere = f"'{data}', the folder that {DATA_VARIABLE} names"
        elsewhere += "" if data.is_dir() else " although it does not exist"
    action = f"get {files} from {origin.page} and put them into"
    if origin.piece_of:
        action = (
            f"{files} are a piece of {origin.piece_of} ({origin.page}) and are not offered for "
            "download; put copies of them into"
        )
    return f"{action} '{cache_folder() / origin.folder}' or {elsewhere}"


class _Progress:
    """What pooch calls while it downloads, handed on to whoever listens to progress."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.total = 0  # set by pooch, 0 if the server does not say
        self.done = 0

    def update(self, n_bytes: int) -> None:
        self.done += n_bytes
        progress.report(self.stage, min(self.done, self.total), self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


@contextmanager
def _quiet_pooch() -> Iterator[None]:
    """Keep pooch from printing; what went wrong is in the exception."""
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
