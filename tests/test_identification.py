"""Names from spectral libraries: resampling, distances, limits, and the real USGS library."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectrawalk import SpectralLibrary, identify_spectra
from spectrawalk.errors import DataError, ParameterError
from spectrawalk.io import read_library
from spectrawalk.prepare.resampling import resample_spectra
from spectrawalk.results.identification import Bands, remove_continuum

BANDS = np.arange(400.0, 2400, 20)


def curve(center, width=150.0, depth=0.5, bands=BANDS):
    """A spectrum with one absorption."""
    return 0.8 - depth * np.exp(-(((bands - center) / width) ** 2))


@pytest.fixture
def library():
    centers = {"rust": 900, "clay": 2200, "gypsum": 1750, "moss": 680}
    spectra = np.array([curve(each) for each in centers.values()])
    return SpectralLibrary("four", tuple(centers), spectra, BANDS, np.full(len(BANDS), 20.0))


class TestResampling:
    def test_a_line_stays_a_line(self):
        wanted = np.linspace(450, 2300, 70)
        line = 0.1 + BANDS[np.newaxis] * 3e-4
        found = resample_spectra(line, BANDS, None, wanted, np.full(70, 40.0))
        np.testing.assert_allclose(found[0], 0.1 + wanted * 3e-4, atol=2e-3)

    @given(seed=st.integers(0, 1000))
    @settings(max_examples=25, deadline=None)
    def test_the_order_of_the_bands_does_not_matter(self, seed):
        rng = np.random.default_rng(seed)
        order, back = rng.permutation(len(BANDS)), rng.permutation(30)
        wanted, widths = np.linspace(410, 2300, 30), np.full(30, 35.0)
        spectra = rng.random((3, len(BANDS)))
        spectra[rng.random(spectra.shape) < 0.1] = np.nan
        plain = resample_spectra(spectra, BANDS, None, wanted, widths)
        shuffled = resample_spectra(
            spectra[:, order], BANDS[order], None, wanted[back], widths[back]
        )
        np.testing.assert_allclose(shuffled, plain[:, back], rtol=1e-9)

    def test_slow_twin(self):
        """Each new band is the mean of the old ones, weighted by a Gaussian over their overlap."""
        from math import erf

        rng = np.random.default_rng(0)
        old, new = np.arange(500.0, 600, 10), np.array([523.0, 552.0])
        spectrum, fwhm = rng.random(10), 24.0
        sigma = fwhm / np.sqrt(8 * np.log(2))
        expected = []
        for center in new:
            weights = []
            for band in old:
                low, high = max(band - 5, center - fwhm / 2), min(band + 5, center + fwhm / 2)
                a, b = ((edge - center) / sigma / np.sqrt(2) for edge in (low, high))
                weights.append(max(erf(b) - erf(a), 0.0) if high > low else 0.0)
            expected.append(np.average(spectrum, weights=weights))
        found = resample_spectra(
            spectrum[np.newaxis], old, np.full(10, 10.0), new, np.full(2, fwhm)
        )
        np.testing.assert_allclose(found[0], expected, rtol=1e-6)

    def test_missing_values_do_not_spread_beyond_their_bands(self):
        spectrum = np.ones((1, len(BANDS)))
        spectrum[0, 40:60] = np.nan
        found = resample_spectra(spectrum, BANDS, None, BANDS, np.full(len(BANDS), 20.0))
        np.testing.assert_array_equal(np.isnan(found[0]), np.isnan(spectrum[0]))
        np.testing.assert_allclose(found[0, np.isfinite(found[0])], 1.0)


class TestIdentification:
    def test_a_factor_does_not_matter(self, library):
        found = identify_spectra(library.spectra * 7000, library, BANDS)
        assert [each.name for each in found] == list(library.names)
        assert all(each.matches[0].angle < 1e-6 for each in found)

    def test_angles_are_those_of_the_textbook(self, library):
        (found,) = identify_spectra([curve(1000)], library, BANDS, limit=0.1)
        for match in found.matches:
            other = library.spectra[library.names.index(match.name)]
            cosine = curve(1000) @ other / np.linalg.norm(curve(1000)) / np.linalg.norm(other)
            assert match.angle == pytest.approx(np.arccos(cosine), abs=1e-7)
        assert [each.angle for each in found.matches] == sorted(
            each.angle for each in found.matches
        )

    def test_the_limit_decides(self, library):
        (near,) = identify_spectra([curve(930)], library, BANDS, limit=0.1)
        (far,) = identify_spectra([curve(930)], library, BANDS, limit=0.01)
        assert (near.name, far.name) == ("rust", None)
        assert near.matches[0].angle == far.matches[0].angle

    def test_each_spectrum_has_its_own_limit(self, library):
        found = identify_spectra([curve(930)] * 2, library, BANDS, limit=[0.1, 0.01])
        assert [each.name for each in found] == ["rust", None]

    def test_noise_makes_the_limit_without_one(self, library):
        rng = np.random.default_rng(3)
        noisy = library.spectra * (1 + 0.01 * rng.standard_normal(library.spectra.shape))
        assert [each.name for each in identify_spectra(noisy, library, BANDS)] == list(
            library.names
        )
        # Another absorption is no noise.
        (other,) = identify_spectra([curve(940)], library, BANDS)
        assert other.name is None
        assert other.matches[0].name == "rust"

    def test_a_short_library_spectrum_does_not_win_by_its_few_bands(self, library):
        flat = np.full((1, len(BANDS)), np.nan)
        flat[0, 10:24] = curve(2200)[10:24]
        short = SpectralLibrary("short", ("patch",), flat, BANDS)
        (found,) = identify_spectra([curve(2200)], [library, short], BANDS, limit=1.0)
        assert found.n_compared == 4
        assert "patch" not in [each.name for each in found.matches]

    def test_a_library_of_the_infrared_alone_is_compared_there(self, library):
        infrared = BANDS > 1300
        part = SpectralLibrary("swir", library.names, library.spectra[:, infrared], BANDS[infrared])
        (found,) = identify_spectra([curve(2200)], part, BANDS, limit=0.05)
        assert found.name == "clay"
        assert found.matches[0].n_bands == infrared.sum()

    def test_the_same_bands_are_not_resampled(self, library):
        rng = np.random.default_rng(0)
        rough = SpectralLibrary("rough", ("a",), rng.random((1, len(BANDS))), BANDS)
        (found,) = identify_spectra(rough.spectra, rough, BANDS, limit=0.1)
        assert found.matches[0].angle < 1e-6

    def test_a_few_bands_say_nothing(self, library):
        blue = SpectralLibrary("blue", ("a",), library.spectra[:1, :12], BANDS[:12])
        with pytest.raises(DataError, match=r"with 1\d bands in common"):
            identify_spectra([curve(900)], blue, BANDS, limit=1.0)

    def test_without_wavelengths_bands_are_matched_by_number(self, library):
        plain = SpectralLibrary("plain", library.names, library.spectra)
        used = np.arange(5, 96)  # some bands were excluded
        (found,) = identify_spectra([curve(2200)[used - 1]], plain, band_numbers=used, limit=0.01)
        assert found.name == "clay"

    def test_a_cluster_without_pixels(self, library):
        empty, full = identify_spectra([np.full(len(BANDS), np.nan), curve(900)], library, BANDS)
        assert (empty.matches, empty.name, full.name) == ((), None, "rust")

    def test_noise_does_not_make_features_infinite(self, library):
        dark = curve(900) - 0.35  # below zero in the absorption
        (found,) = identify_spectra([dark], library, BANDS, limit=1.0)
        assert all(np.isfinite(each.feature_difference) for each in found.matches)

    @given(seed=st.integers(0, 1000))
    @settings(max_examples=20, deadline=None)
    def test_the_continuum_is_the_upper_hull(self, seed):
        """Nothing is above 1, the ends are 1, and what is left has no hull of its own."""
        spectrum = np.random.default_rng(seed).random(40) + 0.1
        removed = remove_continuum(spectrum, np.arange(40.0))
        assert removed.max() <= 1 + 1e-9
        np.testing.assert_allclose(removed[[0, -1]], 1.0)
        np.testing.assert_allclose(remove_continuum(removed, np.arange(40.0)), removed, atol=1e-4)


class TestRefusals:
    def test_no_overlap(self, library):
        thermal = SpectralLibrary("thermal", ("sand",), np.ones((1, 50)), np.linspace(8e3, 1e4, 50))
        with pytest.raises(DataError, match=r"8000 to 10000 nm.*400 to 2380 nm, with 0 bands"):
            identify_spectra([curve(900)], thermal, BANDS)

    def test_other_bands_without_wavelengths(self, library):
        plain = SpectralLibrary("plain", ("a",), np.ones((1, 12)))
        with pytest.raises(DataError, match=r"'plain' has 12 bands.*the library lacks"):
            identify_spectra([curve(900)], plain, BANDS)

    def test_a_scene_without_wavelengths(self, library):
        with pytest.raises(DataError, match="the scene lacks its wavelengths"):
            identify_spectra([np.ones(12)], library)

    def test_an_empty_library(self):
        with pytest.raises(DataError, match="no library spectrum"):
            identify_spectra([curve(900)], [], BANDS)

    def test_a_limit_below_zero(self, library):
        with pytest.raises(ParameterError, match="limit=-1"):
            identify_spectra([curve(900)], library, BANDS, limit=-1)

    def test_wavelengths_of_other_bands(self, library):
        with pytest.raises(ParameterError, match=r"wavelengths has shape \(3,\)"):
            identify_spectra([curve(900)], library, BANDS[:3])


@pytest.mark.scene
def test_the_usgs_library_finds_its_own_spectra(usgs_library, enmap_potsdam_north):
    """200 spectra on EnMAP's bands with 1 % of noise, with and without their own entry."""
    (library,) = read_library(usgs_library)
    assert len(library.names) == 2457
    wavelengths, fwhm = enmap_potsdam_north.wavelengths, enmap_potsdam_north.fwhm
    rng = np.random.default_rng(20)
    drawn = rng.choice(len(library.names), 200, replace=False)
    # Not with the package's own resampling: the spectra come from elsewhere.
    from scipy.stats import norm

    response = norm.pdf(library.wavelengths, wavelengths[:, None], fwhm[:, None] / 2.3548)
    known = np.isfinite(library.spectra[drawn])
    weights = known @ response.T
    spectra = np.where(known, library.spectra[drawn], 0) @ response.T
    enough = weights > 0.5 * np.median(weights[weights > 0])
    spectra = np.where(enough, spectra / np.where(enough, weights, 1), np.nan)
    spectra *= 1 + 0.01 * rng.standard_normal(spectra.shape)

    def material(name):
        return name.split()[0]

    found = identify_spectra(spectra, library, wavelengths, fwhm=fwhm)
    own = [material(library.names[each]) for each in drawn]
    first = [material(each.matches[0].name) == name for each, name in zip(found, own, strict=True)]
    assert np.mean(first) >= 0.95
    assert np.mean([each.is_good for each in found]) >= 0.9
    # Without its own entry: the next match, judged by the same rule. Resampled once for all.
    bands = Bands(np.arange(1, len(wavelengths) + 1), wavelengths, fwhm)
    resampled, names = library.on_bands(bands), np.array(library.names, dtype=object)
    refused = []
    for spectrum, entry, name in zip(spectra, drawn, own, strict=True):
        rest = np.arange(len(names)) != entry
        others = SpectralLibrary(library.name, tuple(names[rest]), resampled[rest])
        (other,) = identify_spectra([spectrum], others, n_best=1)
        refused.append(not other.is_good or material(other.matches[0].name) == name)
    assert np.mean(refused) >= 0.95
