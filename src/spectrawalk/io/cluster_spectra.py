"""Mean spectra of the clusters as a table (CSV) and as an ENVI spectral library."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError, FileError
from spectrawalk.io.envi_header import Header
from spectrawalk.io.envi_map import envi_header, in_braces
from spectrawalk.results.spectra import ClusterSpectrum
from spectrawalk.scene import Scene


def spectra_csv(scene: Scene, spectra: Sequence[ClusterSpectrum]) -> bytes:
    """Encode mean and standard deviation of each cluster, one line per band.

    Bands have the numbers of the file that the scene was read from, counted from 1.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> from spectrawalk.results.spectra import cluster_spectra
    >>> scene = Scene(np.array([[[1.0, 2.0], [3.0, 2.0]]]), wavelengths=np.array([450.0, 550.5]))
    >>> print(spectra_csv(scene, cluster_spectra(scene, np.array([[0, 0]]))).decode(), end="")
    band,wavelength_nm,cluster_1_mean,cluster_1_std
    1,450.0,2.0,1.0
    2,550.5,2.0,0.0
    """
    names = [f"cluster_{c}_{what}" for c in range(1, len(spectra) + 1) for what in ("mean", "std")]
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    has_wavelengths = scene.wavelengths is not None
    table.writerow(["band", *["wavelength_nm"] * has_wavelengths, *names])
    for band in range(scene.n_bands):
        place = [float(scene.wavelengths[band])] if scene.wavelengths is not None else []
        values = chain.from_iterable((s.mean[band], s.deviation[band]) for s in spectra)
        table.writerow([int(scene.band_numbers[band]), *place, *map(float, values)])
    return text.getvalue().encode()


def spectral_library_files(
    name: str,
    scene: Scene,
    spectra: Sequence[ClusterSpectrum],
    names: Sequence[str] | None = None,
) -> dict[str, bytes]:
    """Names and contents of an ENVI spectral library of the mean spectra: header, then binary.

    Parameters
    ----------
    name : str
        Name of the pair without suffix; the files get ``.sli`` and ``.hdr``.
    scene : Scene
        Whose bands the spectra have.
    spectra : sequence of ClusterSpectrum
    names : sequence of str, optional
        Of the clusters; "cluster 1" and so on without them.

    Examples
    --------
    >>> import numpy as np
    >>> from spectrawalk import Scene
    >>> from spectrawalk.results.spectra import cluster_spectra
    >>> scene = Scene(np.ones((2, 2, 3)))
    >>> spectra = cluster_spectra(scene, np.zeros((2, 2), dtype=int))
    >>> list(spectral_library_files("mean", scene, spectra))
    ['mean.hdr', 'mean.sli']
    """
    if names is None:
        names = [f"cluster {number}" for number in range(1, len(spectra) + 1)]
    fields: dict[str, object] = {
        "description": in_braces([f"mean spectra of the clusters of {scene.name}"]),
        "samples": scene.n_bands,
        "lines": len(spectra),
        "bands": 1,
        "header offset": 0,
        "file type": "ENVI Spectral Library",
        "data type": 4,
        "interleave": "bsq",
        "byte order": 0,
        "spectra names": in_braces(list(names[: len(spectra)])),
    }
    if scene.wavelengths is not None:
        fields["wavelength units"] = "Nanometers"
        fields["wavelength"] = in_braces([float(each) for each in scene.wavelengths])
    else:
        numbered = [f"band {number}" for number in scene.band_numbers]
        fields["band names"] = in_braces(list(scene.band_names or numbered))
    if scene.fwhm is not None:
        fields["fwhm"] = in_braces([float(each) for each in scene.fwhm])
    means = np.array([spectrum.mean for spectrum in spectra])
    _check_range(means)
    return {f"{name}.hdr": envi_header(fields), f"{name}.sli": means.astype("<f4").tobytes()}


class StoredSpectra(NamedTuple):
    """Mean spectra of the clusters as a run wrote them."""

    means: NDArray[np.float64]
    """Shape (clusters, bands)."""
    band_numbers: NDArray[np.intp]
    wavelengths: NDArray[np.float64] | None
    fwhm: NDArray[np.float64] | None
    names: tuple[str, ...]


def read_cluster_spectra(table: Path, header: Path) -> StoredSpectra:
    """Read the table of :func:`spectra_csv`; names and widths are in the library's header."""
    try:
        rows = list(csv.reader(table.read_text(encoding="ascii").splitlines()))
        titles, values = rows[0], np.array(rows[1:], dtype=np.float64)
        means = [at for at, title in enumerate(titles) if title.endswith("_mean")]
        if titles[0] != "band" or not means or values.ndim != 2 or not len(values):
            raise ValueError
    except OSError as error:
        raise FileError(
            f"'{table}' cannot be read: {error.strerror or error}; give the folder of a run."
        ) from error
    except (ValueError, IndexError):
        raise FileError(f"'{table}' is not the table of a run; cluster the scene again.") from None
    wavelengths = values[:, 1] if titles[1] == "wavelength_nm" else None
    fwhm, names = None, []
    if header.is_file():
        fields = Header(header)
        fwhm, names = fields.fwhm(len(values)), fields.items("spectra names")
    if len(names) != len(means):
        names = [f"cluster {number}" for number in range(1, len(means) + 1)]
    numbers = values[:, 0].astype(np.intp)
    return StoredSpectra(values[:, means].T, numbers, wavelengths, fwhm, tuple(names))


def _check_range(means: NDArray[np.float64]) -> None:
    """Refuse means that would become infinite, or all zero, in the type of the library."""
    limits = np.finfo(np.float32)
    peak = means.flat[np.abs(means).argmax()]
    if abs(peak) > limits.max or 0 < abs(peak) < limits.tiny:
        raise DataError(
            f"the mean spectra reach {peak:.3g}, which the 32-bit numbers of an ENVI spectral "
            f"library cannot hold: they range from {limits.tiny:.1e} to {limits.max:.1e}; scale "
            "the cube, or use the table of spectra."
        )
