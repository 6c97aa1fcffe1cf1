"""
An EMIT granule
===============

EMIT measures from the space station, so that its images are strips at an angle to north.
spectrawalk clusters the pixels as they were measured and lays only the labels out on the map: no
spectrum is resampled, and none counts twice.

This example makes a small file in the layout of an EMIT L2A granule. With a granule of your own,
start at the second step.
"""

# %%
# A file in the layout of EMIT L2A: the reflectance in the geometry of the sensor, wavelengths, bad
# bands, and a table that says for each cell of a map in degrees which pixel it shows.

from pathlib import Path
from tempfile import mkdtemp

import h5py
import numpy as np
import rasterio

from spectrawalk.datasets import make_scene

made = make_scene((60, 50), n_bands=60, n_classes=4, random_state=2)
rows, cols = made.shape
wavelengths = np.linspace(381, 2493, 60)

# Turn the strip by 30 degrees: where is each cell of the map in the image?
north, east = np.mgrid[-40:40, -42:42]
turn = np.deg2rad(30)
row = np.rint(np.cos(turn) * north + np.sin(turn) * east + rows / 2).astype(int)
col = np.rint(np.cos(turn) * east - np.sin(turn) * north + cols / 2).astype(int)
inside = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)

path = Path(mkdtemp()) / "EMIT_L2A_RFL_001_20240724T104526.nc"
with h5py.File(path, "w") as file:
    file["reflectance"] = made.cube.astype(np.float32)
    file["reflectance"].attrs["_FillValue"] = np.float32(-9999)
    bands = file.create_group("sensor_band_parameters")
    bands["wavelengths"] = wavelengths.astype(np.float32)
    bands["fwhm"] = np.full(60, 8.5, dtype=np.float32)
    bands["good_wavelengths"] = (np.abs(wavelengths - 1900) > 100).astype(np.uint8)
    file["location/glt_y"] = np.where(inside, row + 1, 0).astype(np.int32)
    file["location/glt_x"] = np.where(inside, col + 1, 0).astype(np.int32)
    file.attrs["geotransform"] = [11.0, 0.00054, 0.0, 48.0, 0.0, -0.00054]
    file.attrs["spatial_ref"] = rasterio.CRS.from_epsg(4326).to_wkt()

# %%
# Read the granule. The picture is in the geometry of the sensor.

from spectrawalk import read_scene

scene = read_scene(path)
scene

# %%
# Exclude the bad bands and those of water vapour. Each step says what it excluded and why.

from spectrawalk.prepare.bands import prepare_scene

scene, preparation = prepare_scene(scene)
for step in preparation.steps:
    if len(step.bands):
        print(f"{len(step.bands)} bands: {step.reason}")

# %%
# Cluster it. The map of the result is orthorectified: grey where the strip has no pixel.

from spectrawalk import Result, SpectraWalk

result = Result.of_fit(scene, SpectraWalk(n_clusters=4).fit(scene))
result

# %%
# The same on one page, for a paper or a talk.

figure = result.plot()
figure

# %%
# As a Dataset of xarray it has latitudes, longitudes and the coordinate system.

result.to_xarray()

# %%
# Write the map for QGIS.

from spectrawalk.io import write_map

write_map(path.with_name("labels.tif"), result.map)
with rasterio.open(path.with_name("labels.tif")) as source:
    print(source.shape, source.crs, source.bounds)
