"""What a user sees of the package before using it."""

import subprocess
import sys

import spectrawalk


def test_import_is_light():
    heavy = ["numpy", "scipy", "sklearn", "numba", "matplotlib", "dask", "rasterio", "click"]
    code = (
        "import sys; before = set(sys.modules); import spectrawalk; "
        f"print([m for m in {heavy} if m in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_load():
    for name in spectrawalk.__all__:
        assert getattr(spectrawalk, name) is not None
    assert set(spectrawalk.__all__) <= set(dir(spectrawalk))
