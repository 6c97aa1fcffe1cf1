"""A made scene at two dates, of which a known part changed."""

import numpy as np

from spectrawalk.datasets import make_scene


def two_dates(changed_share=0.3, seed=0):
    """A made scene at two dates: truth before and after, and the cube of each date."""
    scene = make_scene((40, 50), 20, 4, mixing=0.2, noise=0.005, random_state=seed)
    before = scene.ground_truth
    after = before.copy()
    rows = round(40 * changed_share)
    after[:rows] = before[:rows] % 4 + 1
    rng = np.random.default_rng(seed)
    cube = scene.cube.copy()
    for each in range(1, 5):
        wanted = (after == each) & (before != each)
        noise = rng.normal(1, 0.02, (wanted.sum(), 20))
        cube[wanted] = scene.cube[before == each].mean(axis=0) * noise
    return scene, cube, before, after
