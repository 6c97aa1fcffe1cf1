"""Which bands and pixels are used: each step, its switch and its record."""

import json

import numpy as np
import pytest

from spectrawalk import Scene
from spectrawalk.errors import DataError, ParameterError
from spectrawalk.prepare.bands import overlapping_bands, prepare_scene

OFF = {
    "drop_bad_bands": False,
    "drop_water_bands": False,
    "overlap": "keep",
    "drop_constant_bands": False,
    "mask_saturated": False,
}
WAVELENGTHS = [450, 650, 950, 1000, 920, 970, 1400, 1900, 2200]


def make_scene(dtype: type = np.float32, **fields: object) -> Scene:
    cube = np.random.default_rng(0).integers(1, 4000, size=(6, 5, 9)).astype(dtype)
    return Scene(cube, **{"wavelengths": WAVELENGTHS, **fields})


def step_named(preparation, name):
    (step,) = [step for step in preparation.steps if step.name == name]
    return step


def test_everything_off_changes_nothing():
    scene = make_scene(np.uint16, good_bands=np.arange(9) > 2)
    prepared, preparation = prepare_scene(scene, **OFF)
    np.testing.assert_array_equal(prepared.cube, scene.cube)
    np.testing.assert_array_equal(prepared.mask, scene.mask)
    assert preparation.kept_bands == tuple(range(9))
    assert [step.name for step in preparation.steps] == ["usable"]


def test_bad_bands_are_dropped():
    scene = make_scene(good_bands=[True, False] + [True] * 7)
    prepared, preparation = prepare_scene(scene, **{**OFF, "drop_bad_bands": True})
    assert prepared.n_bands == 8
    assert step_named(preparation, "drop_bad_bands").bands == (1,)


def test_water_windows_are_dropped_with_their_ends():
    scene = make_scene(wavelengths=[1349, 1350, 1400, 1450, 1451, 1799, 1800, 1950, 1951])
    _, preparation = prepare_scene(scene, **{**OFF, "drop_water_bands": True})
    assert preparation.kept_bands == (0, 4, 5, 8)


def test_without_wavelengths_the_record_says_what_was_not_done():
    scene = make_scene(wavelengths=None)
    prepared, preparation = prepare_scene(scene)
    assert prepared.n_bands == 9
    assert "not done" in step_named(preparation, "drop_water_bands").reason
    assert "not done" in step_named(preparation, "overlap").reason


@pytest.mark.parametrize(
    ("overlap", "dropped"), [("vnir", (4, 5)), ("swir", (2, 3)), ("middle", (3, 4)), ("keep", ())]
)
def test_the_overlap_is_a_choice(overlap, dropped):
    prepared, preparation = prepare_scene(make_scene(), **{**OFF, "overlap": overlap})
    assert tuple(set(range(9)) - set(preparation.kept_bands)) == dropped
    if overlap != "keep":
        assert (np.diff(prepared.wavelengths) > 0).all()


def test_the_overlap_of_bands_that_are_bad_is_none():
    scene = make_scene(good_bands=[True, True, False, False] + [True] * 5)
    _, preparation = prepare_scene(scene, **{**OFF, "drop_bad_bands": True, "overlap": "vnir"})
    assert preparation.kept_bands == (0, 1, 4, 5, 6, 7, 8)


def test_descending_wavelengths_overlap_too():
    descending = np.array(WAVELENGTHS[::-1], dtype=float)
    expected = overlapping_bands(np.array(WAVELENGTHS, dtype=float), "vnir")[::-1]
    np.testing.assert_array_equal(overlapping_bands(descending, "vnir"), expected)
    assert not overlapping_bands(
        np.array([5.0, 1, 4, 2, 3, 0.5, 2.5, 1.5, 8, 7, 9, 3, 10]), "vnir"
    ).any()


def test_constant_bands_are_dropped_and_masked_pixels_do_not_count():
    scene = make_scene()
    cube, mask = scene.cube.copy(), np.ones((6, 5), dtype=bool)
    cube[:, :, 3] = 7
    cube[0, 0, 3], mask[0, 0] = 8, False
    cube[:, :, 5] = np.nan
    _, preparation = prepare_scene(Scene(cube, mask=mask), **{**OFF, "drop_constant_bands": True})
    assert step_named(preparation, "drop_constant_bands").bands == (3, 5)


def test_saturated_pixels_are_masked_only_in_bands_that_are_left():
    scene = make_scene(np.uint16)
    cube = scene.cube.copy()
    cube[1, 1, 0] = 65535
    cube[2, 2, 6] = 65535  # in the water window, which is dropped
    full = Scene(cube, wavelengths=WAVELENGTHS)
    prepared, preparation = prepare_scene(full)
    assert not prepared.mask[1, 1]
    assert prepared.mask[2, 2]
    assert step_named(preparation, "mask_saturated").pixels == 1
    assert prepare_scene(full, mask_saturated=False)[0].n_valid == 30
    lower, _ = prepare_scene(full, saturation=3000, drop_water_bands=False)
    np.testing.assert_array_equal(
        lower.mask, (cube[:, :, [0, 1, 2, 3, 6, 7, 8]] < 3000).all(axis=2)
    )


def test_small_integers_and_floats_have_no_saturation_of_their_own():
    scene = Scene(np.full((2, 2, 3), 255, dtype=np.uint8) - np.arange(3, dtype=np.uint8))
    prepared, preparation = prepare_scene(scene, drop_constant_bands=False)
    assert prepared.n_valid == 4
    assert "not known" in step_named(preparation, "mask_saturated").reason


def test_a_user_mask_a_crop_and_ranges():
    mask = np.ones((6, 5), dtype=np.uint8)
    mask[2, 3] = 0
    prepared, preparation = prepare_scene(
        make_scene(),
        mask=mask,
        crop=(slice(1, 4), slice(2, 5)),
        band_ranges=[(400, 700), (2000, 2500)],
    )
    assert prepared.shape == (3, 3)
    assert not prepared.mask[1, 1]
    assert prepared.wavelengths.tolist() == [450, 650, 2200]
    assert step_named(preparation, "mask").pixels == 1
    assert step_named(preparation, "band_ranges").bands == (2, 3, 4, 5, 6, 7)
    assert prepare_scene(make_scene(), bands=[8, 0])[1].kept_bands == (0, 8)


def test_a_kept_band_with_holes_masks_its_pixels():
    cube = make_scene().cube.copy()
    cube[0, 0, 1] = np.nan
    prepared, preparation = prepare_scene(Scene(cube))
    assert not prepared.mask[0, 0]
    assert step_named(preparation, "usable").pixels == 1


def test_the_record_is_json_and_in_the_metadata():
    prepared, preparation = prepare_scene(make_scene(np.uint16))
    record = preparation.to_record()
    assert json.loads(json.dumps(record)) == record
    assert prepared.metadata["preparation"] == record


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"overlap": "best"}, ParameterError, "overlap='best'"),
        ({"band_ranges": [(700, 400)]}, ParameterError, "the lower one first"),
        ({"band_ranges": [400]}, ParameterError, "not a list of pairs"),
        ({"saturation": "full"}, ParameterError, "saturation='full' is not a number"),
        ({"band_ranges": [(100, 200)]}, DataError, "no band is left after band_ranges"),
        ({"bands": [9]}, ParameterError, "numbers are 0 to 8"),
        ({"mask": np.zeros((6, 5))}, DataError, "mask leaves no valid pixel"),
        ({"mask": np.ones((5, 6))}, DataError, r"mask has shape \(5, 6\)"),
        ({"mask": np.full((6, 5), 255)}, DataError, "other than 0 and 1"),
        ({"saturation": 0}, DataError, "no pixel is left after mask_saturated"),
    ],
)
def test_choices_that_cannot_be_met(options, error, message):
    with pytest.raises(error, match=message):
        prepare_scene(make_scene(), **options)


def test_ranges_need_wavelengths():
    with pytest.raises(DataError, match="band_ranges needs wavelengths"):
        prepare_scene(make_scene(wavelengths=None), band_ranges=[(400, 700)])


class TestPixelsThatAreAllTheSame:
    """Each cause has its own sentence; none of them is about the bands."""

    def told(self, scene, **options):
        with pytest.raises(DataError) as caught:
            prepare_scene(scene, **options)
        assert "no band is left" not in str(caught.value)
        return str(caught.value)

    def test_an_image_of_one_pixel(self):
        assert self.told(Scene(np.arange(1, 6).reshape(1, 1, 5))) == (
            "scene 'scene': the image is a single pixel; clustering needs at least 2."
        )

    def test_one_pixel_that_is_not_masked(self):
        mask = np.zeros((6, 5), dtype=bool)
        mask[2, 3] = True
        assert self.told(make_scene(mask=mask)) == (
            "scene 'scene': only one of 30 pixels is valid; clustering needs at least 2: check "
            "the scene, or choose a larger part of it."
        )

    def test_no_pixel_at_all(self):
        told = self.told(make_scene(mask=np.zeros((6, 5), dtype=bool)))
        assert told == "scene 'scene': all pixels are masked; check the mask."

    def test_a_mask_of_one_pixel(self):
        mask = np.zeros((6, 5), dtype=bool)
        mask[2, 3] = True
        assert self.told(make_scene(), mask=mask) == (
            "scene 'scene': the mask leaves only one valid pixel; clustering needs at least 2: "
            "check that the mask is true where pixels are to be used."
        )

    @pytest.mark.parametrize("full", [65535, 4095])
    def test_an_image_that_is_saturated_everywhere(self, full):
        scene = Scene(np.full((6, 5, 9), full, dtype=np.uint16))
        options = {} if full == 65535 else {"saturation": full}
        assert self.told(scene, **options) == (
            f"scene 'scene': all 30 valid pixels are saturated: they hold {full}, the largest "
            "value of the sensor, in every band; choose another scene or another part of it."
        )

    def test_one_value_everywhere(self):
        scene = Scene(np.full((6, 5, 9), -0.005, dtype=np.float32))
        assert self.told(scene) == (
            "scene 'scene': all 30 valid pixels hold -0.005 in every band, which is likely the "
            "value for no data; choose another scene or another part of it."
        )

    def test_one_spectrum_everywhere(self):
        scene = Scene(np.broadcast_to(np.arange(1.0, 10.0), (6, 5, 9)))
        assert self.told(scene) == (
            "scene 'scene': all 30 valid pixels hold the same spectrum in the bands that are "
            "used, so there is nothing to cluster; choose other bands, or another scene or part."
        )

    def test_bands_that_hold_nothing(self):
        cube = np.random.default_rng(0).random((6, 5, 3))
        cube[:, :, 0] = np.nan
        with pytest.raises(DataError, match="no band is left after drop_constant_bands"):
            prepare_scene(Scene(cube), bands=[0])

    def test_the_step_can_still_be_switched_off(self):
        scene = Scene(np.full((6, 5, 9), -0.005))
        assert prepare_scene(scene, drop_constant_bands=False)[0].n_bands == 9


@pytest.mark.scene
def test_a_part_without_data_of_a_real_file(aviris_ng):
    empty = aviris_ng.crop(slice(4, 10), slice(0, 10))
    with pytest.raises(DataError, match=r"all 60 valid pixels hold -0\.005 in every band, which"):
        prepare_scene(empty)
    prepared, _ = prepare_scene(aviris_ng.crop(slice(0, 4), slice(0, 10)))
    assert prepared.n_valid == 40


@pytest.mark.parametrize("ranges", [[(0.45, 0.9)], [(1, 2)], [(450, 900), (2.0, 2.5)]])
def test_ranges_in_micrometres_are_recognised(ranges):
    low, high = ranges[-1]
    with pytest.raises(ParameterError) as caught:
        prepare_scene(make_scene(), band_ranges=ranges)
    assert str(caught.value) == (
        f"band_ranges holds {low:g}:{high:g}, which looks like micrometres; give nanometres: "
        f"{low * 1000:g}:{high * 1000:g}."
    )
