"""Whatever the image and the settings: a sound model, or one sentence that says why not."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

import spectrawalk
from spectrawalk import DL, DLSS, SRDL
from spectrawalk.errors import SpectrawalkError

EXTREME = [1e-320, 1e-200, 1e-30, 1e-3, 0.1, 1.0, 30.0, 1e5, 1e30, 1e200, 1e308]


@st.composite
def images(draw):
    """Images of few pixels and kinds: one pixel wide, constant, duplicated, masked in any way."""
    rows, cols, bands = draw(st.integers(1, 5)), draw(st.integers(1, 6)), draw(st.integers(2, 4))
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    kinds = draw(st.sampled_from([1, 2, 3, 5, 100]))
    palette = rng.choice([0, 1, 2, 7], (kinds, bands)) + draw(
        st.sampled_from([0, 0, 0.1, 1e-9])
    ) * (rng.normal(size=(kinds, bands)))
    cube = palette[rng.integers(0, kinds, (rows, cols))]
    cube = cube * draw(st.sampled_from([1.0, 1.0, 1.0, -1.0, 1e-3, 1e4, 1e-150, 1e150, 1e300]))
    if draw(st.booleans()):
        cube[rng.integers(rows), rng.integers(cols)] *= draw(st.sampled_from([0, 10, 1e6]))
    mask = rng.uniform(size=(rows, cols)) < draw(st.sampled_from([0.0, 0.3, 0.8, 1.0, 1.0]))
    return cube, mask


@st.composite
def models(draw):
    """Every reading, with sensible and with extreme values."""
    options = {
        "n_clusters": st.sampled_from(["auto", 1, 2, 3, 30]),
        "n_neighbors": st.sampled_from([1, 2, 5, 100]),
        "sigma": st.sampled_from([*EXTREME, "mean", "self-tuning"]),
        "sigma_factor": st.sampled_from([1.0, 1.0, *EXTREME]),
        "symmetrize": st.sampled_from(["max", None]),
        "time": st.sampled_from(EXTREME),
        "n_eigenpairs": st.sampled_from(["auto", 2, 3, 10, 1000]),
        "density_neighbors": st.sampled_from([1, 3, 20]),
        "density_bandwidth": st.sampled_from(["auto", "auto", *EXTREME]),
        "normalize": st.sampled_from(["pixel", "global", "band", None]),
        "jitter": st.sampled_from([0.0, 0.0, 1e-3, 1e300]),
        "components": st.sampled_from(["bridge", "split"]),
        "max_clusters": st.sampled_from([2, 30]),
    }
    spatial = {
        "consensus_radius": st.sampled_from([0, 1, 3, 10**30]),
        "stage1": st.sampled_from(["most-frequent", "most-frequent-first", "majority"]),
        "open_parent": st.sampled_from(["labelled", "open"]),
        "own_vote": st.booleans(),
    }
    windowed = {
        "radius": st.sampled_from([None, 1, 2, 10**30]),
        "window": st.sampled_from(["square", "disk"]),
    }
    kind = draw(st.sampled_from([SRDL, SRDL, DLSS, DL]))
    options |= spatial if kind is not DL else {}
    options |= windowed if kind is SRDL else {}
    chosen = draw(st.sets(st.sampled_from(sorted(options)), max_size=5))
    return kind(**{name: draw(options[name]) for name in sorted(chosen)})


def check_sentence(error):
    event(type(error).__name__)
    assert str(error).endswith((".", ")"))
    assert "\n" not in str(error)


def check_model(model, mask):
    labels, valid = model.labels_, np.asarray(mask)
    np.testing.assert_array_equal(labels == -1, ~valid)
    assert set(labels[valid]) == set(range(model.n_clusters_))
    sizes = np.bincount(labels[valid])
    assert (np.diff(sizes) <= 0).all()
    np.testing.assert_array_equal(labels.ravel()[model.modes_], range(model.n_clusters_))
    for name in ("density_", "rho_", "mode_score_", "coordinates_"):
        image = getattr(model, name)
        assert np.isfinite(image[valid]).all(), name
        assert np.isnan(image[~valid]).all(), name
    assert model.density_[valid].sum() - 1 < 1e-9
    assert np.isfinite(model.eigenvalues_).all()


@settings(max_examples=150)
@given(images(), models(), st.sampled_from([1, 2, 3, "auto"]), st.booleans())
def test_a_sound_model_or_one_sentence(image, model, n_clusters, as_table):
    cube, mask = image
    if as_table:
        cube, mask = cube.reshape(-1, cube.shape[2]), mask.ravel()
    try:
        model.fit(cube, mask=mask)
    except SpectrawalkError as error:
        check_sentence(error)
        return
    event("fitted")
    check_model(model, mask)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.npz")
        loaded = spectrawalk.load(Path(folder) / "model.npz")
    try:
        relabelled = model.relabel(n_clusters)
    except SpectrawalkError:
        pass
    else:
        np.testing.assert_array_equal(loaded.relabel(n_clusters), relabelled)
    predicted = model.predict(cube, mask=mask)
    np.testing.assert_array_equal(loaded.predict(cube, mask=mask), predicted)
    if model.jitter == 0:
        assert (predicted[mask] >= 0).all()
