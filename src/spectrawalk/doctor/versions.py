"""Which versions are installed, and which optional parts are not."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

from spectrawalk import __version__
from spectrawalk.doctor.facts import Fact, State

_PACKAGE = "spectrawalk"
_MODULES = {"scikit-learn": "sklearn", "pillow": "PIL"}
"""Modules of packages that are not called like them."""

_NOT_FOR_USERS = {"all", "docs", "test"}
"""Extras that no run needs: all together, and what those who change spectrawalk need."""

_GDAL_DRIVERS = {
    "GTiff": "to read GeoTIFF and EnMAP, and to write maps",
    "COG": "to write the maps of a run in tiles",
    "VRT": "to write the maps of a run in tiles",
}

_PROJ_VARIABLES = ("PROJ_LIB", "PROJ_DATA")
_ANY_CRS = "EPSG:32632"


def versions() -> Iterator[Fact]:
    """List spectrawalk, Python, the platform, and each package that is needed."""
    yield Fact(_PACKAGE, __version__)
    yield Fact("Python", f"{platform.python_version()} ({platform.python_implementation()})")
    yield Fact("platform", platform.platform())
    needed = [requirement for requirement in _requirements() if requirement.marker is None]
    if not needed:
        yield Fact(
            "packages",
            "not known",
            State.HINDERED,
            "spectrawalk was started from its source without being installed: install it with pip",
        )
    for requirement in needed:
        yield _needed(requirement)


def extras() -> Iterator[Fact]:
    """List each optional part: the versions of its packages, or how to install them."""
    parts: dict[str, list[Requirement]] = {}
    for requirement in _requirements():
        if requirement.name == _PACKAGE or requirement.marker is None:
            continue
        for extra in _extras_of(requirement):
            parts.setdefault(extra, []).append(requirement)
    for extra, requirements in parts.items():
        yield _optional(extra, requirements)


def gdal() -> Iterator[Fact]:
    """Name GDAL's version, the drivers that are used here, and whether codes of EPSG are known."""
    import rasterio
    from rasterio.env import Env

    from spectrawalk.scene.georeference import to_wkt

    yield Fact("GDAL", f"{rasterio.__gdal_version__}, used by rasterio {rasterio.__version__}")
    with Env() as environment:
        there = set(environment.drivers())
    for driver, use in _GDAL_DRIVERS.items():
        if driver in there:
            yield Fact(driver, f"available, {use}")
        else:
            yield Fact(
                driver,
                f"not available; it is needed {use}",
                State.BROKEN,
                "install rasterio from PyPI or conda-forge, whose GDAL has it",
            )
    if to_wkt(_ANY_CRS) is not None:
        yield Fact("PROJ", "knows coordinate reference systems by their EPSG codes")
    else:
        yield _without_epsg()


def _without_epsg() -> Fact:
    """Say why no EPSG code is known: mostly a variable of another installation of PROJ."""
    found = {name: os.environ[name] for name in _PROJ_VARIABLES if os.environ.get(name)}
    where = ", ".join(f"{name}={folder}" for name, folder in found.items())
    value = "finds no list of EPSG codes, so maps have no place" + f" ({where})" * bool(found)
    names = " and ".join(found)
    advice = f"unset {names}" if found else "pip install --force-reinstall rasterio"
    return Fact("PROJ", value, State.BROKEN, advice)


def _requirements() -> list[Requirement]:
    """What this package needs, as its metadata say; empty if it is not installed."""
    try:
        return [Requirement(line) for line in requires(_PACKAGE) or ()]
    except PackageNotFoundError:
        return []


def _extras_of(requirement: Requirement) -> list[str]:
    """Name the extras that a requirement belongs to."""
    marker = str(requirement.marker)
    words = [word.strip("\"'") for word in marker.split()]
    named = [words[place + 2] for place, word in enumerate(words[:-2]) if word == "extra"]
    return [extra for extra in named if extra not in _NOT_FOR_USERS]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _needed(requirement: Requirement) -> Fact:
    name, found = requirement.name, _installed(requirement.name)
    install = f"pip install '{requirement}'"
    if found is None:
        return Fact(name, "not installed", State.BROKEN, install)
    if not requirement.specifier.contains(found, prereleases=True):
        return Fact(name, f"{found} is not {requirement.specifier}", State.BROKEN, install)
    try:
        import_module(_MODULES.get(name, name))
    except Exception as error:  # a library that is not there, a version that does not fit, ...
        why = f"{found} cannot be imported ({type(error).__name__}: {error})"
        return Fact(name, why, State.BROKEN, f"pip install --force-reinstall '{requirement}'")
    return Fact(name, found)


def _optional(extra: str, requirements: list[Requirement]) -> Fact:
    install = f"pip install '{_PACKAGE}[{extra}]'"
    found = {each.name: _installed(each.name) for each in requirements}
    missing = [name for name, number in found.items() if number is None]
    if missing:
        what = "not installed" if len(found) == 1 else f"{' and '.join(missing)} not installed"
        return Fact(extra, what, State.ABSENT, install)
    old = [
        f"{each.name} {found[each.name]} is not {each.specifier}"
        for each in requirements
        if not each.specifier.contains(str(found[each.name]), prereleases=True)
    ]
    if old:
        return Fact(extra, ", ".join(old), State.HINDERED, install)
    return Fact(extra, ", ".join(f"{name} {number}" for name, number in found.items()))
