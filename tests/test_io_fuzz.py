"""Damaged files: each gives a scene or an error of the package, within 5 s and 500 MB.

``SPECTRAWALK_FUZZ`` is the number of damaged files per format, 25 by default.
"""

import collections
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import product_files
import pytest

READER = Path(__file__).with_name("fuzz_reader.py")
COUNT = int(os.environ.get("SPECTRAWALK_FUZZ", "25"))
FIRST = int(os.environ.get("SPECTRAWALK_FUZZ_FIRST", "0"))
CUBE = product_files.CUBE
TAGGED = {
    "wavelength": product_files.WAVELENGTHS.tolist(),
    "fwhm": product_files.FWHM.tolist(),
    "wavelength_units": "nm",
    "bbl": [1] * 6,
    "map_info": "{UTM, 1, 1, 500000, 4000000, 30, 30, 33, North, WGS-84, rotation=10}",
}

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="memory is limited by what /proc says"
)


def envi(folder):
    folder = folder / "pair"
    folder.mkdir()
    product_files.write_envi(folder / "s.img", interleave="bil", **TAGGED)
    return f"{folder}:s.hdr"


def npy(folder):
    np.save(folder / "s.npy", CUBE)
    return folder / "s.npy"


def npz(folder):
    np.savez_compressed(folder / "s.npz", cube=CUBE)
    return folder / "s.npz"


def plain_v5(folder):
    import scipy.io

    scipy.io.savemat(folder / "s.mat", {"cube": CUBE, "other": np.ones((2, 3))})
    return folder / "s.mat"


def flattened(folder):
    table = CUBE.transpose(2, 1, 0).reshape(CUBE.shape[2], -1)
    sizes = {"nRow": float(CUBE.shape[0]), "nCol": float(CUBE.shape[1])}
    return product_files.write_v5(folder / "s.mat", V=table, **sizes)


def emit(folder):
    return product_files.write_emit(folder / "s.nc")


def geotiff(folder):
    path = product_files.write_geotiff(folder / "s.tif", compress="deflate", tiled=True)
    import rasterio

    with rasterio.open(path, "r+") as target:
        for band, value in enumerate(product_files.WAVELENGTHS, start=1):
            target.update_tags(band, wavelength=value)
    return path


SAMPLES = {
    "envi": envi,
    "geotiff": geotiff,
    "geotiff-plain": lambda folder: product_files.write_geotiff(folder / "s.tif"),
    "mat-v5": lambda folder: product_files.write_v5(folder / "s.mat", cube=CUBE),
    "mat-v5-plain": plain_v5,
    "mat-flattened": flattened,
    "mat-v7.3": lambda folder: product_files.write_v73(folder / "s.mat", cube=CUBE),
    "npy": npy,
    "npz": npz,
    "emit": emit,
    "prisma": lambda folder: product_files.write_prisma(folder / "s.he5"),
    "enmap": lambda folder: product_files.write_enmap(folder / "product").parent,
    "zarr-v2": lambda folder: product_files.write_zarr(folder / "s.zarr", zarr_format=2),
    "zarr-v3": lambda folder: product_files.write_zarr(folder / "s.zarr", wavelengths=[1.0] * 6),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_damaged_files_are_read_or_refused(tmp_path, kind):
    sample = SAMPLES[kind](tmp_path)
    outcomes, failures = collections.Counter(), []
    case, end = FIRST, FIRST + COUNT
    while case < end:
        scratch = tmp_path / f"scratch-{case}"
        scratch.mkdir()
        child = subprocess.run(
            [sys.executable, READER, sample, scratch, str(case), str(end - case)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        lines = child.stdout.splitlines()
        assert lines, child.stderr
        for line in lines:
            case, _, outcome = line.partition(" ")
            outcomes[outcome.partition(" ")[0] or "died"] += 1
            if outcome.partition(" ")[0] not in ("read", "refused"):
                failures.append(f"case {case}: {outcome or f'ended by {-child.returncode}'}")
        case = int(case) + 1
    print(f"{kind}: {dict(outcomes)}")
    assert not failures, "\n".join(failures[:20])
    assert outcomes["refused"] > 0
