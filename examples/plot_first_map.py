"""
A first map
===========

From a hyperspectral image to a map that opens in QGIS, in five steps.
"""

# %%
# A published scene comes with its name: here a part of Indian Pines, of 50 x 25 pixels. For a file
# of your own, write ``scene = spectrawalk.read_scene("scene.hdr")``. A scene on the last line of a
# notebook cell shows itself.

from spectrawalk.datasets import load_scene

scene = load_scene("indian-pines-subset")
scene

# %%
# Exclude the bands and pixels that cannot be used. ``preparation`` lists each exclusion with its
# reason. Of this scene, the noisy bands were removed before it was published.

from spectrawalk.prepare.bands import prepare_scene

scene, preparation = prepare_scene(scene)
scene

# %%
# Cluster the scene. ``SpectraWalk`` needs no parameters: it estimates the number of clusters and
# keeps one tree, which can be cut into any number.

from spectrawalk import SpectraWalk

model = SpectraWalk().fit(scene)
model

# %%
# A ``Result`` has what was found: the map, the mean spectra, and the confidence of each label.

from spectrawalk import Result

result = Result.of_fit(scene, model)
result

# %%
# The same on one page, for a paper or a talk. ``figure.savefig("overview.png")`` writes the file.

figure = result.plot()
figure

# %%
# Another number of clusters comes from the same tree, without a new fit.

Result.of_fit(scene, model.at(3))

# %%
# Write the map. Drag ``labels.tif`` into QGIS: colours and names are in the files beside it.

from pathlib import Path
from tempfile import mkdtemp

from spectrawalk.io import write_map

folder = Path(mkdtemp())
write_map(folder / "labels.tif", result.map)
print(sorted(path.name for path in folder.iterdir()))
