"""Python files of a user that register methods."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from spectrawalk.errors import FileError, SpectrawalkError

_loaded: set[Path] = set()


def load_plugins(files: Sequence[str | Path]) -> None:
    """Run Python files that call :func:`spectrawalk.baselines.register`. Each file runs once.

    Parameters
    ----------
    files : sequence of path

    Examples
    --------
    >>> import tempfile
    >>> from spectrawalk.baselines import METHODS
    >>> path = Path(tempfile.mkdtemp(), "mine.py")
    >>> _ = path.write_text('''
    ... from spectrawalk.baselines import register
    ... from spectrawalk.baselines.kmeans import KMeans
    ... register("mine", KMeans)
    ... ''')
    >>> load_plugins([path])
    >>> METHODS.pop("mine").__name__
    'KMeans'
    """
    for file in files:
        path = Path(file).resolve()
        if path not in _loaded:
            _load(path)
            _loaded.add(path)


def _load(path: Path) -> None:
    name = f"spectrawalk_plugin_{path.stem}"
    spec = spec_from_file_location(name, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise FileError(f"'{path}' is not a Python file (.py); give one that registers a method.")
    # Other files in its folder can be imported, but must not hide other modules.
    sys.path.append(str(path.parent))
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SpectrawalkError as error:
        raise FileError(f"'{path}' cannot be used: {error}") from error
    except Exception as error:
        raise FileError(
            f"'{path}' cannot be run ({type(error).__name__}: {error}); correct the file."
        ) from error
