"""Scene: what it refuses, and parts of it that stay consistent."""

import numpy as np
import pytest

from spectrawalk import Scene
from spectrawalk.errors import DataError, ParameterError
from spectrawalk.io import scene_from_cube
from spectrawalk.scene import Orthorectification

CUBE = np.random.default_rng(0).integers(1, 4000, size=(6, 5, 4)).astype(np.uint16)
TRANSFORM = (30.0, 5.0, 500_000.0, -5.0, -30.0, 4_000_000.0)


@pytest.mark.parametrize("mask", [np.full((6, 5), 255), np.full((6, 5), np.nan), CUBE[:, :, 0]])
def test_a_mask_of_other_values_is_refused(mask):
    with pytest.raises(DataError, match="mask holds values other than 0 and 1"):
        Scene(CUBE, mask=mask)


def test_a_mask_of_zeros_and_ones_is_taken():
    flags = np.zeros((6, 5), dtype=np.uint8)
    flags[0, 0] = 1
    assert Scene(CUBE, mask=flags).n_valid == 1
    with pytest.raises(DataError, match=r"mask has shape \(5, 6\)"):
        Scene(CUBE, mask=flags.T)


def test_the_mask_of_a_masked_array_is_kept():
    cube = np.ma.array(CUBE, mask=np.zeros(CUBE.shape, dtype=bool))
    cube[1, 2, 3] = np.ma.masked
    scene = Scene(cube)
    assert not scene.mask[1, 2]
    assert scene.n_valid == 29
    own = np.ones((6, 5), dtype=bool)
    own[0, 0] = False
    assert Scene(cube, mask=own).n_valid == 28
    assert Scene(np.ma.array(CUBE)).n_valid == 30


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("wavelengths", 5.0, r"wavelengths for 4 bands"),
        ("wavelengths", [400, 500], r"2 wavelengths for 4 bands"),
        ("wavelengths", [400, 500, np.nan, 600], "not positive numbers"),
        ("wavelengths", ["a", "b", "c", "d"], "not positive numbers"),
        ("fwhm", [1, 2, 3], "3 fwhm for 4 bands"),
        ("fwhm", [1, 2, 3, -4], "not positive numbers"),
        ("good_bands", [True], "1 good_bands for 4 bands"),
        ("good_bands", [1, 0, 2, 0], "values other than 0 and 1"),
        ("band_names", ["a"], "1 band_names for 4 bands"),
        ("transform", (1, 2, 3), "not six finite numbers"),
        ("transform", (1, 0, np.inf, 0, -1, 0), "not six finite numbers"),
        ("transform", (0, 0, 1, 0, 0, 1), "no area"),
        ("transform", 7, "not six finite numbers"),
    ],
)
def test_fields_that_do_not_fit_are_refused(field, value, message):
    with pytest.raises(DataError, match=message):
        Scene(CUBE, **{field: value})


def full_scene() -> Scene:
    cube = CUBE.astype(np.float32)
    cube[0, 0, 1] = np.nan
    cube[5, 4] = 0
    grid = np.indices((6, 5))
    return scene_from_cube(
        cube,
        name="field",
        source="a test",
        wavelengths=[400, 500, 600, 700],
        fwhm=[5, 6, 7, 8],
        good_bands=np.array([True, True, False, True]),
        band_names=["a", "b", "c", "d"],
        ground_truth=np.arange(30).reshape(6, 5),
        class_names={1: "one"},
        crs="LOCAL_CS[]",
        transform=TRANSFORM,
        orthorectify=Orthorectification(grid[0][::-1], grid[1][::-1], "CRS", TRANSFORM),
        metadata={"file": "somewhere"},
    )


def test_a_crop_cuts_everything_and_moves_the_transform():
    scene = full_scene()
    part = scene.crop(slice(2, 6), slice(1, 5))
    np.testing.assert_array_equal(part.cube, scene.cube[2:6, 1:5])
    np.testing.assert_array_equal(part.mask, scene.mask[2:6, 1:5])
    np.testing.assert_array_equal(part.ground_truth, scene.ground_truth[2:6, 1:5])
    # The corner of the first pixel: x = a col + b row + c.
    assert part.transform == (30, 5, 500_000 + 30 + 10, -5, -30, 4_000_000 - 5 - 60)
    assert part.metadata["crop"] == ((2, 6), (1, 5))
    assert part.metadata["masked_not_finite"] == 0
    assert part.metadata["masked_all_zero"] == 1
    assert part.metadata["file"] == "somewhere"
    assert part.crs == "LOCAL_CS[]"


def test_a_crop_of_a_crop_counts_from_the_whole():
    scene = full_scene()
    twice = scene.crop(slice(1, 5), slice(1, 4)).crop(slice(1, 3), slice(None, 2))
    once = scene.crop(slice(2, 4), slice(1, 3))
    np.testing.assert_array_equal(twice.cube, once.cube)
    assert twice.metadata == once.metadata
    assert twice.transform == once.transform
    np.testing.assert_array_equal(twice.orthorectify.rows, once.orthorectify.rows)
    assert twice.orthorectify.transform == once.orthorectify.transform


def test_a_crop_keeps_the_smallest_map_that_shows_it():
    scene = full_scene()
    part = scene.crop(slice(2, 4), slice(1, 3))
    # The map of the test is the image upside down, so that its rows 2 and 3 show them.
    np.testing.assert_array_equal(part.orthorectify.rows, [[1, 1], [0, 0]])
    np.testing.assert_array_equal(part.orthorectify.cols, [[0, 1], [0, 1]])
    assert part.orthorectify.transform == (30, 5, 500_000 + 30 + 10, -5, -30, 4_000_000 - 5 - 60)
    shown = part.orthorectify.apply(part.ground_truth, fill=-1)
    np.testing.assert_array_equal(shown, scene.ground_truth[2:4, 1:3][::-1])


@pytest.mark.parametrize(
    ("rows", "cols"),
    [(slice(0, 7), slice(0, 5)), (slice(3, 3), slice(0, 5)), (slice(-2, 6), slice(0, 5))],
)
def test_a_crop_beyond_the_image_is_refused(rows, cols):
    with pytest.raises(ParameterError, match="beyond the image of 6 rows and 5 columns"):
        full_scene().crop(rows, cols)


@pytest.mark.parametrize("rows", [3, (0, 3), slice(0, 3, 2), slice(0.5, 3), "all"])
def test_a_crop_takes_plain_slices_only(rows):
    with pytest.raises(ParameterError, match="rows="):
        full_scene().crop(rows, slice(None))


def test_a_crop_of_masked_pixels_only_is_refused():
    with pytest.raises(DataError, match="no pixel in rows 5 to 5 and columns 4 to 4"):
        full_scene().crop(slice(5, 6), slice(4, 5))


def test_chosen_bands_keep_what_belongs_to_them():
    scene = full_scene()
    for part in (
        scene.select_bands([3, 1]),
        scene.select_bands([False, True, False, True]).select_bands([1, 0]),
    ):
        np.testing.assert_array_equal(part.cube, scene.cube[:, :, [3, 1]])
        assert part.wavelengths.tolist() == [700, 500]
        assert part.fwhm.tolist() == [8, 6]
        assert part.good_bands.tolist() == [True, True]
        assert part.band_names == ("d", "b")


@pytest.mark.parametrize("bands", [[], [4], [-1], [0.5], 2, [True, False]])
def test_a_choice_of_bands_that_makes_no_sense_is_refused(bands):
    with pytest.raises(ParameterError, match="bands"):
        full_scene().select_bands(bands)


def test_a_lookup_of_two_shapes_is_refused():
    with pytest.raises(DataError, match="two 2-D arrays of one shape"):
        Orthorectification(np.zeros((2, 3)), np.zeros((3, 2)))


def test_a_class_without_a_name_is_called_by_its_number():
    scene = Scene(np.ones((1, 2, 3)), class_names={4: "Corn"})
    assert (scene.class_name(4), scene.class_name(5)) == ("Corn", "class 5")
