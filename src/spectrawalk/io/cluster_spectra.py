"""Mean spectra of the clusters as a table (CSV) and as an ENVI spectral library."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from spectrawalk.errors import DataError
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
    name: str, scene: Scene, spectra: Sequence[ClusterSpectrum]
) -> dict[str, bytes]:
    """Names and contents of an ENVI spectral library of the mean spectra: header, then binary.

    Parameters
    ----------
    name : str
        Name of the pair without suffix; the files get ``.sli`` and ``.hdr``.
    scene : Scene
        Whose bands the spectra have.
    spectra : sequence of ClusterSpectrum

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
        "spectra names": in_braces([f"cluster {c}" for c in range(1, len(spectra) + 1)]),
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
