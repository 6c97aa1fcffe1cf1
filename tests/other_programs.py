"""Programs that tests look at our files with; their tests skip where they are not installed.

With ``SPECTRAWALK_REQUIRE_PROGRAMS`` set the tests run all the same, and fail.
"""

import os
import shutil

import pytest

# Debian's qgis_process is a script that fails, by an option that is for qgis only.
QGIS_PROCESS = shutil.which("qgis_process.bin") or shutil.which("qgis_process")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_REQUIRED = bool(os.environ.get("SPECTRAWALK_REQUIRE_PROGRAMS"))

needs_gdal = pytest.mark.skipif(
    shutil.which("gdalinfo") is None and not _REQUIRED,
    reason="needs GDAL's tools (Debian: gdal-bin)",
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and not _REQUIRED, reason="needs Chromium (Debian: chromium)"
)
needs_qgis = pytest.mark.skipif(
    QGIS_PROCESS is None and not _REQUIRED, reason="needs QGIS (Debian: qgis)"
)
