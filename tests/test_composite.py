"""The scene as a picture: which bands, how they are named and stretched."""

import numpy as np
import pytest

from spectrawalk import SRDL, Result, Scene
from spectrawalk.datasets import make_scene
from spectrawalk.errors import ParameterError
from spectrawalk.report.figures import overview
from spectrawalk.results.composite import color_bands, color_picture, composite


@pytest.mark.parametrize(
    ("waves", "name", "bands"),
    [
        ([420, 460, 550, 640, 850, 2200], "true colour", (3, 2, 1)),
        ([520, 560, 660, 870, 1600], "colour infrared", (3, 2, 1)),  # no blue
        ([1000, 1200, 1600, 2000, 2200], "false colour", (3, 2, 1)),  # no visible light
        ([450, 700, 900, 1600, 2200], "false colour", (3, 2, 1)),  # no green
        ([2200, 850, 650, 550, 450], "true colour", (2, 3, 4)),  # in any order
    ],
)
def test_the_bands_follow_from_the_wavelengths(waves, name, bands):
    chosen = color_bands(Scene(np.ones((1, 1, len(waves))), wavelengths=waves))
    assert (chosen.name, chosen.bands) == (name, bands)
    assert chosen.caption.startswith(f"{waves[bands[0]]}, ")


def test_without_wavelengths_the_caption_has_the_numbers_of_the_file():
    part = Scene(np.ones((1, 1, 9))).select_bands([1, 3, 5, 7])
    assert color_bands(part).caption == "bands 6, 6 and 4"
    assert color_bands(Scene(np.ones((1, 1, 1)))).bands == (0, 0, 0)


def test_masked_pixels_are_grey_and_outliers_do_not_darken_the_rest():
    cube = np.linspace(0, 1, 1000).reshape(20, 50, 1) * np.ones(3)
    cube[0, 0], cube[1, 1] = 1e9, np.nan
    picture = color_picture(Scene(cube, mask=np.isfinite(cube).all(axis=2)))
    assert picture.image.dtype == np.uint8
    assert picture.image[1, 1].tolist() == [204, 204, 204]
    assert picture.image[0, 0].tolist() == [255, 255, 255]
    assert 120 < np.median(picture.image) < 135


def test_a_constant_or_empty_band_is_drawn():
    assert composite(Scene(np.full((2, 2, 3), 7)), (0, 1, 2)).max() == 0
    masked = Scene(np.ones((2, 2, 3)), mask=np.zeros((2, 2), bool))
    assert (color_picture(masked).image == 204).all()
    with pytest.raises(ParameterError, match="give three from 0 to 2"):
        composite(masked, (0, 1, 3))


def test_the_overview_shows_the_picture_unless_there_is_a_ground_truth():
    scene = make_scene((20, 20), n_bands=10, n_classes=2, random_state=0)
    model = SRDL(n_clusters=2, n_neighbors=20, n_eigenpairs=5).fit(scene)
    plain = Scene(scene.cube, wavelengths=np.linspace(440, 900, 10))
    titles = [ax.get_title() for ax in overview(Result.of_fit(plain, model)).axes]
    assert titles[:2] == ["True colour, 644, 542 and 440 nm", "First principal component"]
    titles = [ax.get_title() for ax in overview(Result.of_fit(scene, model)).axes]
    assert titles[:2] == ["First principal component", "Ground truth"]
