import numpy as np
import pytest

from spectrawalk.errors import ParameterError
from spectrawalk.results.palette import NO_DATA, class_colors, cluster_colors

# How a reader sees linear sRGB: Machado, Oliveira and Fernandes (2009), full severity.
VISIONS = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
# Oklab: linear sRGB -> cone response -> (cube root) -> lightness and two opponent axes.
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_OPPONENT = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def oklab(colors, vision="normal"):
    srgb = np.asarray(colors) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ VISIONS[vision].T, 0, 1)
    return np.cbrt(seen @ TO_CONES.T) @ TO_OPPONENT.T


def smallest_distance(colors, vision):
    points = oklab(colors, vision)
    distance = np.linalg.norm(points[:, np.newaxis] - points, axis=-1)
    return distance[np.triu_indices(len(points), 1)].min()


@pytest.mark.parametrize(
    ("n", "vision", "at_least"),
    [
        (3, "normal", 0.15),
        (3, "deuteranopia", 0.15),
        (8, "normal", 0.15),
        (8, "deuteranopia", 0.075),
        (8, "protanopia", 0.09),
        (10, "normal", 0.13),
        (10, "deuteranopia", 0.075),
        (10, "protanopia", 0.075),
        (32, "normal", 0.06),
        (32, "deuteranopia", 0.05),
        (32, "protanopia", 0.05),
    ],
)
def test_colors_and_the_no_data_grey_are_told_apart(n, vision, at_least):
    colors = np.vstack([cluster_colors(n), NO_DATA])
    assert smallest_distance(colors, vision) >= at_least


def test_the_first_four_have_four_hues():
    _, a, b = oklab(cluster_colors(4)).T
    hue = np.sort(np.degrees(np.arctan2(b, a)) % 360)
    assert np.diff([*hue, hue[0] + 360]).min() > 20


def test_the_table_is_what_the_stated_procedure_gives():
    def seen(colors):
        return np.stack([oklab(colors, vision) for vision in VISIONS])

    def distance_to(color):
        return np.linalg.norm(as_seen - seen([color]), axis=-1).min(axis=0)

    grid = np.arange(0, 256, 15)
    candidates = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), -1).reshape(-1, 3)
    lightness, a, b = oklab(candidates).T
    candidates = candidates[(lightness > 0.35) & (lightness < 0.85) & (np.hypot(a, b) > 0.06)]
    as_seen = seen(candidates)

    table = cluster_colors(32)
    nearest = np.min([distance_to(color) for color in [*table[:7], NO_DATA]], axis=0)
    for color in table[7:]:
        assert candidates[nearest.argmax()].tolist() == color.tolist()
        nearest = np.minimum(nearest, distance_to(color))


def test_a_cluster_has_one_color_whatever_the_number_of_clusters():
    longest = cluster_colors(100)
    for n in (0, 1, 2, 8, 31, 32, 33, 99):
        np.testing.assert_array_equal(cluster_colors(n), longest[:n])


def test_colors_beyond_the_table_are_new():
    assert len(np.unique(cluster_colors(96), axis=0)) == 96


def test_the_first_colors_show_on_white_paper():
    assert oklab(cluster_colors(6))[:, 0].max() < 0.8


def test_no_color_is_grey():
    assert np.ptp(cluster_colors(32).astype(int), axis=1).min() >= 25


def test_a_negative_number_is_refused():
    with pytest.raises(ParameterError, match="n is -1"):
        cluster_colors(-1)


def test_a_class_has_the_color_of_its_cluster():
    colors = class_colors([10, 20, 30], matching={0: 30, 1: 10}, n_clusters=2)
    first, second, third = (tuple(color) for color in cluster_colors(3).tolist())
    assert colors == {30: first, 10: second, 20: third}
    assert list(colors) == [10, 20, 30]


def test_a_cluster_without_a_class_keeps_its_color_to_itself():
    colors = class_colors([1, 2], matching={4: 2}, n_clusters=5)
    assert colors[2] == tuple(cluster_colors(6)[4].tolist())
    assert colors[1] == tuple(cluster_colors(6)[5].tolist())
