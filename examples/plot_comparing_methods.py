"""
Comparing methods
=================

How well do the clusters of several methods agree with ground truth? No method sees the ground
truth; it serves to match clusters with classes and to count the agreement.
"""

# %%
# A scene with ground truth: a part of Indian Pines with three classes.

from spectrawalk.datasets import load_scene

scene = load_scene("indian-pines-subset")
scene

# %%
# SpectraWalk, a single run of the paper's method SRDL with the paper's settings, and two common
# methods. All of them are estimators of scikit-learn.

from spectrawalk import SRDL, SpectraWalk
from spectrawalk.baselines import make_method

methods = {
    "SpectraWalk": SpectraWalk(n_clusters=3),
    "SRDL": SRDL.from_paper("indian-pines-subset"),
    "spectral clustering": make_method("sc", n_clusters=3),
    "K-means": make_method("k-means", n_clusters=3),
}
labels = {name: method.fit_predict(scene) for name, method in methods.items()}

# %%
# Overall accuracy, average accuracy and kappa after the best matching of clusters to classes.

from spectrawalk import score

scores = {name: score(scene.ground_truth, found) for name, found in labels.items()}
for name, each in scores.items():
    print(f"{name:20} OA {each.oa:.3f}   AA {each.aa:.3f}   kappa {each.kappa:.3f}")

# %%
# The maps, side by side. A cluster has the colour of the class that it is matched with; grey is
# without ground truth, or a cluster without a class.

import matplotlib.pyplot as plt
import numpy as np

from spectrawalk.report.figures import paint_classes
from spectrawalk.results.palette import class_colors

truth = scene.ground_truth
colors = class_colors(scene.class_names, {}, 0)
pictures = {"ground truth": truth}
for name, found in labels.items():
    matched = np.zeros_like(truth)
    for cluster, label in scores[name].matching.items():
        matched[found == cluster] = label
    pictures[name] = matched

figure, axes = plt.subplots(1, len(pictures), figsize=(10, 4), layout="constrained")
for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
    ax.imshow(paint_classes(picture, colors), interpolation="nearest")
    accuracy = f"\nOA {scores[name].oa:.3f}" if name in scores else "\n"
    ax.set(title=name + accuracy, xticks=[], yticks=[])
handles = [plt.Rectangle((0, 0), 1, 1, color=np.divide(color, 255)) for color in colors.values()]
figure.legend(handles, scene.class_names.values(), loc="outside lower center", ncols=3)
plt.show()
