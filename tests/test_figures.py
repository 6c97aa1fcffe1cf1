from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from spectrawalk import DL, SRDL, Scene, score
from spectrawalk.datasets import make_scene
from spectrawalk.errors import FileError, MissingDependencyError
from spectrawalk.report import figures
from spectrawalk.results.components import first_component
from spectrawalk.results.palette import NO_DATA, class_colors, cluster_colors
from spectrawalk.results.result import Result

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def scene():
    made = make_scene(shape=(24, 16), n_bands=12, n_classes=3, random_state=0)
    mask = np.ones(made.shape, dtype=bool)
    mask[:3, :4] = False
    return Scene(
        made.cube.astype(np.float64),
        mask=mask,
        name="made",
        ground_truth=made.ground_truth,
        wavelengths=np.linspace(400.0, 2500.0, 12),
        class_names={1: "water"},
    )


@pytest.fixture(scope="module")
def model(scene):
    return SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(scene)


def overview(scene, model):
    return figures.overview(Result.of_fit(scene, model))


def titled(figure, text):
    [found] = [ax for ax in figure.axes if text in ax.get_title()]
    return found


def drawn_image(figure, title):
    return np.asarray(titled(figure, title).images[0].get_array())


def texts_of_legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def made_up(shape, n_clusters, *, truth=True, n_bands=20):
    """Scene and model of stripes, for layouts that no small scene would give."""
    rng = np.random.default_rng(0)
    labels = np.sort(np.arange(np.prod(shape)) % n_clusters).reshape(shape)
    cube = labels[..., np.newaxis] + rng.uniform(size=(*shape, n_bands))
    scene = Scene(cube, ground_truth=labels + 1 if truth else None)
    _, modes = np.unique(labels, return_index=True)
    mode_score = rng.uniform(0.0, 0.1, size=shape)
    mode_score.ravel()[modes] = rng.uniform(1.0, 2.0, size=n_clusters)
    fitted = SimpleNamespace(
        labels_=labels,
        modes_=modes,
        mode_score_=mode_score,
        density_=rng.uniform(size=shape),
        n_clusters_=n_clusters,
        n_clusters=n_clusters,
        max_clusters=30,
        radius=8,
        n_neighbors=100,
        sigma=1.0,
        symmetrize="max",
        n_eigenpairs="auto",
        eigenvalues_=np.ones(12),
        time=30,
        consensus_radius=3,
        normalize="pixel",
    )
    return scene, fitted


def boxes(figure):
    """Everything with text or pixels that takes up room on the page."""
    figure.draw_without_rendering()
    parts = [ax.get_tightbbox() for ax in figure.axes]
    parts.append(figure.legends[0].get_window_extent())
    return [*parts, *(text.get_window_extent() for text in figure.texts)]


def assert_all_in_its_place(figure):
    placed = boxes(figure)
    page = figure.bbox
    for place, box in enumerate(placed):
        assert page.x0 <= box.x0
        assert page.y0 <= box.y0
        assert box.x1 <= page.x1
        assert box.y1 <= page.y1
        for other in placed[place + 1 :]:
            assert not box.padded(-1).overlaps(other)


@pytest.mark.parametrize("shape", [(50, 25), (40, 40), (30, 120), (60, 1), (1, 60)])
@pytest.mark.parametrize(
    "n_clusters", [30, *(pytest.param(few, marks=pytest.mark.slow) for few in (1, 3))]
)
@pytest.mark.parametrize("truth", [True, False])
def test_nothing_overlaps_or_leaves_the_page(shape, n_clusters, truth):
    figure = overview(*made_up(shape, n_clusters, truth=truth))
    assert_all_in_its_place(figure)


def test_a_long_legend_is_cut():
    figure = overview(*made_up((40, 40), 70, truth=False))
    assert texts_of_legend(figure)[-1] == "and 22 more"


def test_maps_show_truth_and_labels_in_the_same_colors(scene, model):
    scores = score(scene.ground_truth, model.labels_)
    figure = overview(scene, model)
    colors = cluster_colors(3)
    labels = drawn_image(figure, "3 clusters")
    truth = drawn_image(figure, "Ground truth")
    for cluster, matched in scores.matching.items():
        assert (labels[model.labels_ == cluster] == colors[cluster]).all()
        assert (truth[scene.ground_truth == matched] == colors[cluster]).all()
    assert (labels[~scene.mask] == NO_DATA).all()


def test_a_class_without_a_cluster_is_named(scene, model):
    truth = scene.ground_truth.copy()
    truth[-1, -1] = 9
    changed = Scene(scene.cube, mask=scene.mask, ground_truth=truth)
    figure = overview(changed, model)
    assert "class without a cluster:  class 9" in texts_of_legend(figure)
    matching = score(truth, model.labels_).matching
    expected = class_colors([1, 2, 3, 9], matching, 3)[9]
    assert tuple(drawn_image(figure, "Ground truth")[-1, -1]) == expected


def test_the_legend_tells_number_share_and_class(scene, model):
    texts = texts_of_legend(overview(scene, model))
    sizes = np.bincount(model.labels_[scene.mask])
    assert [text.replace(",", "").split()[:2] for text in texts[:3]] == [
        [f"{cluster + 1}:", f"{size / sizes.sum():.1%}"] for cluster, size in enumerate(sizes)
    ]
    assert any(text.endswith("matched with water") for text in texts)
    assert "no data" in texts


def test_without_ground_truth_there_is_no_such_panel(scene, model):
    for truth in (None, np.zeros(scene.shape, dtype=int)):
        bare = Scene(scene.cube, mask=scene.mask, ground_truth=truth)
        figure = overview(bare, model)
        assert "Ground truth" not in [ax.get_title() for ax in figure.axes]
        assert "OA" not in figure._suptitle.get_text()


def test_the_modes_are_numbered_where_they_are(scene, model):
    ax = titled(overview(scene, model), "modes")
    marked = {text.get_text(): text.xy for text in ax.texts}
    rows, cols = np.unravel_index(model.modes_, scene.shape)
    assert marked == {str(c + 1): (cols[c], rows[c]) for c in range(3)}


def test_the_curve_falls_and_marks_the_modes(scene, model):
    ax = titled(overview(scene, model), "D_t")
    curve = ax.lines[0].get_ydata()
    assert len(curve) == 30
    assert (np.diff(curve) <= 0).all()
    marks = ax.collections[0].get_offsets()
    np.testing.assert_allclose(marks[:, 1], model.mode_score_.ravel()[model.modes_])
    np.testing.assert_allclose(curve[marks[:, 0].astype(int) - 1], marks[:, 1])
    assert ax.get_yscale() == "log"


def test_an_automatic_number_of_clusters_is_said_to_be_one(scene):
    model = DL(n_neighbors=20, n_eigenpairs=5).fit(scene)
    ax = titled(overview(scene, model), "D_t")
    assert ax.get_legend().get_texts()[0].get_text().endswith("the largest drop from 2 to 30")


def test_spectra_are_drawn_over_wavelengths_if_known(scene, model):
    ax = titled(overview(scene, model), "Mean spectra")
    assert ax.get_xlabel() == "wavelength (nm)"
    bare = Scene(scene.cube, mask=scene.mask)
    ax = titled(overview(bare, model), "Mean spectra")
    assert ax.get_xlabel() == "band number"
    means = {tuple(line.get_ydata()) for line in ax.lines}
    assert means == {tuple(scene.cube[model.labels_ == c].mean(axis=0)) for c in range(3)}


def test_no_line_crosses_removed_bands(scene, model):
    wavelengths = np.r_[400:460:10, 900:960:10].astype(float)
    gapped = Scene(scene.cube, mask=scene.mask, wavelengths=wavelengths)
    ax = titled(overview(gapped, model), "Mean spectra")
    assert len(ax.lines) == 6
    assert all(np.ptp(line.get_xdata()) == 50 for line in ax.lines)


def test_a_noisy_band_or_a_few_odd_pixels_do_not_flatten_the_spectra():
    scene, model = made_up((40, 40), 3, n_bands=100)
    calm = titled(overview(scene, model), "Mean spectra")
    assert "cut off" not in calm.get_title()
    noisy_band = scene.cube.copy()
    noisy_band[:, :, 50] += 1000
    odd = scene.cube.copy()
    labels = model.labels_.copy()
    labels[0, :3] = 3
    odd[0, :3] += 1000
    with_odd = SimpleNamespace(**vars(model) | {"labels_": labels, "n_clusters_": 4})
    with_odd.modes_ = np.r_[100, model.modes_[1:], 0]
    for cube, fitted in ((noisy_band, model), (odd, with_odd)):
        ax = titled(overview(Scene(cube), fitted), "Mean spectra")
        assert np.ptp(ax.get_ylim()) < 1.5 * np.ptp(calm.get_ylim())
        assert ax.get_title().endswith("(extremes cut off)")


def test_spectra_that_are_nearly_all_the_same_are_drawn_whole():
    scene, model = made_up((10, 10), 1, n_bands=100)
    cube = np.ones_like(scene.cube)
    cube[:, :, 3] = 2
    ax = titled(overview(Scene(cube), model), "Mean spectra")
    low, high = ax.get_ylim()
    assert low < 1
    assert high > 2


NAMES = {
    "mathematics": "cost $5^ and {$x",
    "not unicode": "f\udcffeld",
    "no glyph": "水田 \U0001f33e",
    "two lines": "first\nsecond\ttab",
    "long": "Flight_2026-07-03_" * 14,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_any_name_can_be_drawn(name, scene, model, tmp_path):
    called = Scene(
        scene.cube, mask=scene.mask, name=name, ground_truth=scene.ground_truth,
        class_names={1: name},
    )  # fmt: skip
    figure = overview(called, model)
    assert_all_in_its_place(figure)
    figures.save_figure(figure, tmp_path / "overview.png")


def test_a_name_with_dollars_is_drawn_as_it_is(scene, model):
    called = Scene(scene.cube, mask=scene.mask, name="from $a to $b")
    assert overview(called, model)._suptitle.get_text().startswith("from $a to $b: SRDL")


def test_the_picture_says_how_it_was_made(scene):
    model = SRDL(n_neighbors=20, radius=5, sigma=0.5).fit(scene)
    _, small_print = overview(scene, model).texts
    assert " ".join(small_print.get_text().split()) == (
        f"SRDL: {model.n_clusters_} clusters (estimated), window radius 5, 20 neighbours, "
        f"sigma 0.5, symmetric graph, {len(model.eigenvalues_)} eigenpairs (estimated), time 30, "
        "consensus radius 3, spectra scaled to length 1"
    )


def test_the_maps_of_a_crop_count_as_the_scene_does(scene, model):
    part = Scene(scene.cube, mask=scene.mask, metadata={"crop": ((100, 124), (50, 66))})
    figure = overview(part, model)
    for ax in (titled(figure, "3 clusters"), titled(figure, "modes")):
        assert ax.get_xlim() == (49.5, 65.5)
        assert ax.get_ylim() == (123.5, 99.5)
    [first] = [text.xy for text in titled(figure, "modes").texts if text.get_text() == "1"]
    row, col = np.unravel_index(model.modes_[0], scene.shape)
    assert first == (50 + col, 100 + row)
    assert "rows 100 to 123 and columns 50 to 65 of the scene" in " ".join(
        figure.texts[1].get_text().split()
    )


def test_numbers_stand_out_from_their_discs():
    def luminance(color):
        linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
        return linear @ (0.2126, 0.7152, 0.0722)

    for color in cluster_colors(96) / 255:
        dark, light = sorted([luminance(color), float(figures.ink_on(color) == "white")])
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_masked_pixels_may_hold_anything(scene, model):
    cube = scene.cube.astype(float)
    cube[~scene.mask] = np.nan
    clean = drawn_image(overview(scene, model), "principal")
    spoilt = drawn_image(overview(Scene(cube, mask=scene.mask), model), "principal")
    np.testing.assert_array_equal(clean[scene.mask], spoilt[scene.mask])


def test_the_principal_component_is_that_of_scikit_learn(scene):
    from sklearn.decomposition import PCA

    found = first_component(scene)
    expected = PCA(1).fit_transform(scene.cube[scene.mask])[:, 0]
    sign = np.sign(expected @ found[scene.mask])
    np.testing.assert_allclose(found[scene.mask], sign * expected, atol=1e-9)
    assert np.isnan(found[~scene.mask]).all()


def test_a_saved_figure_is_a_png_of_150_dpi(scene, model, tmp_path):
    path = tmp_path / "overview.png"
    figures.save_figure(overview(scene, model), path)
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert picture.width == 1800
        assert round(picture.info["dpi"][0]) == 150
    assert [file.name for file in tmp_path.iterdir()] == ["overview.png"]


def test_a_figure_that_cannot_be_saved_leaves_nothing(scene, model, tmp_path):
    with pytest.raises(FileError, match="nowhere"):
        figures.save_figure(overview(scene, model), tmp_path / "nowhere" / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_drawing_leaves_pyplot_alone(scene, model):
    import sys

    overview(scene, model)
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_without_matplotlib_the_message_says_what_to_install(scene, model, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install \"spectrawalk\[figures\]\""):
        overview(scene, model)


def test_the_peak_of_healthy_plants_is_drawn_whole():
    """A few bands three times as bright as the rest are what a plant looks like."""
    scene, model = made_up((40, 40), 3, n_bands=100)
    cube = scene.cube.copy()
    cube[:, :, 20:22] *= 3
    ax = titled(overview(Scene(cube), model), "Mean spectra")
    assert "cut off" not in ax.get_title()
    assert ax.get_ylim()[1] >= cube[:, :, 20].mean()
