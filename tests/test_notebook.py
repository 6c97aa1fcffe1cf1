"""What notebooks show, and what results give other libraries: HTML, figures, xarray, geopandas."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import rasterio
from command_line import run_python
from other_programs import CHROMIUM, needs_chromium
from product_files import TRANSFORM, UTM, same_crs

from spectrawalk import SRDL, Result, Scene, SpectraWalk
from spectrawalk.datasets import make_scene
from spectrawalk.errors import DataError
from spectrawalk.results.cluster_map import Legend
from spectrawalk.results.result import Thinned
from spectrawalk.scene import Orthorectification

EVIL = '<script>alert("1")</script> & <b>\udcff'
LARGEST = 300_000


def field(**changes):
    made = make_scene((24, 18), n_bands=12, n_classes=3, random_state=0)
    cube = made.cube.copy()
    cube[:2] = 0
    known = {
        "name": "field",
        "mask": cube[..., 0] > 0,
        "wavelengths": np.linspace(440, 1000, 12),
        "metadata": {"masked_all_zero": 36},
        "crs": UTM.to_wkt(),
        "transform": TRANSFORM,
    }
    return Scene(cube, **known | changes)


def fitted(scene, **parameters):
    return SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5, **parameters).fit(scene)


@pytest.fixture(scope="module")
def result():
    scene = field()
    return Result.of_fit(scene, fitted(scene))


@pytest.fixture(scope="module")
def tree():
    scene = field()
    return Result.of_fit(scene, SpectraWalk(n_clusters=4).fit(scene))


class Page(HTMLParser):
    """Tags, words and attributes of a piece of HTML; every tag must be closed."""

    EMPTY = ("img", "path", "polyline")

    def __init__(self, html):
        super().__init__()
        self.tags, self.words, self.attributes, self.open = [], [], [], []
        self.feed(html)
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def assert_harmless(shown):
    """No script, no style that reaches other cells, nothing fetched, small."""
    html = shown if isinstance(shown, str) else shown._repr_html_()
    page = Page(html)
    assert not {"script", "style", "link", "iframe", "b"} & set(page.tags)
    assert not any(name.startswith("on") for name, _ in page.attributes)
    addresses = [value for name, value in page.attributes if name in ("src", "href")]
    assert all(each.startswith("data:image/png;base64,") for each in addresses)
    assert len(html) < LARGEST
    html.encode("utf-8")
    return page


# A short summary


def test_a_scene_and_a_result_are_one_line(result):
    assert repr(result.scene) == (
        "Scene 'field' (24 x 18 pixels, 12 bands, 440 to 1000 nm, 396 valid, EPSG:32633)"
    )
    assert repr(Scene(np.ones((2, 3, 1)))) == "Scene 'scene' (2 x 3 pixels, 1 band, 6 valid)"
    assert repr(result) == "Result of 'field' (SRDL, 3 clusters, 396 pixels)"


def test_the_summary_of_a_plain_scene_needs_no_gdal():
    code = (
        "import sys, numpy, spectrawalk; print(spectrawalk.Scene(numpy.ones((2, 3, 4))))\n"
        "print([name for name in ('rasterio', 'matplotlib', 'jinja2') if name in sys.modules])"
    )
    assert run_python(code).stdout.splitlines()[1] == "[]"


# HTML


def test_a_scene_shows_itself():
    scene = field(good_bands=np.arange(12) != 3)
    page = assert_harmless(scene._repr_html_())
    for words in (
        "Scene field", "24 × 18 pixels, 12 bands of float32", "True colour: 644, 542 and 440 nm",  # noqa: RUF001
        "396 pixels; 36 masked", "36 pixels zero in every band", "440 to 1000 nm",
        "WGS 84 / UTM zone 33N; pixels of 30 m", "bad bands 1 of 12",
    ):  # fmt: skip
        assert words in page.text
    assert page.tags.count("img") == 1
    plain = assert_harmless(Scene(np.ones((3, 4, 2)), ground_truth=np.eye(3, 4, dtype=int)))
    assert "False colour: bands 1, 2 and 1" in plain.text
    assert "Ground truth: 1 class" in plain.text
    assert "wavelengths not known place not known" in plain.text


def test_a_result_shows_map_certainty_scene_sizes_and_spectra(result, tree):
    page = assert_harmless(result._repr_html_())
    assert page.tags.count("img") == 3
    assert page.tags.count("polyline") == 3
    for cluster, size in enumerate(result.sizes):
        row = f"{cluster + 1} {size:,} {size / 396:.1%} {size * 0.09:,.2f} ha"
        assert row in page.text
    assert "Margin, 0 (dark) to 1 (yellow)" in page.text
    assert "wavelength (nm)" in page.text
    assert "Confidence, 0 (dark)" in assert_harmless(tree._repr_html_()).text


def test_a_model_shows_a_diagram_before_and_clusters_after_its_fit(tree):
    from sklearn import config_context

    before = SpectraWalk(n_clusters=4)._repr_mimebundle_()["text/html"]
    assert "sk-" in before
    after = tree.model._repr_mimebundle_()
    assert after["text/html"] == tree.model._repr_html_()
    page = assert_harmless(after["text/html"])
    assert page.text.startswith("SpectraWalk, fitted SpectraWalk: 4 clusters")
    assert page.tags.count("img") == 2
    assert page.tags.count("polyline") == 4
    with config_context(display="text"):
        assert "text/html" not in tree.model._repr_mimebundle_()


def test_models_of_tables_and_models_without_spectra_show_themselves(tmp_path, tree):
    table = make_scene((12, 12), n_bands=6, n_classes=2, random_state=0).cube.reshape(-1, 6)
    page = assert_harmless(SRDL(2, n_neighbors=10, n_eigenpairs=4).fit(table)._repr_html_())
    assert page.tags.count("img") == 0
    assert page.tags.count("polyline") == 2
    tree.model.save_tree(tmp_path / "tree.npz")
    without = assert_harmless(SpectraWalk.load(tmp_path / "tree.npz")._repr_html_())
    assert (without.tags.count("img"), without.tags.count("polyline")) == (2, 0)


def test_everything_that_a_person_can_name_is_escaped(result):
    truth = np.ones(result.scene.shape, dtype=int)
    scene = field(name=EVIL, ground_truth=truth, class_names={1: EVIL}, metadata={"file": EVIL})
    named = Legend((EVIL,) * 3, np.array([[0, 0, 0]] * 3, dtype=np.uint8))
    shown = Result(scene, result.labels, 3, result.model, legend=named)
    for each in (scene, shown):
        page = assert_harmless(each._repr_html_())
        assert page.text.count('<script>alert("1")</script> & <b>') >= 1


def test_cells_of_large_noisy_scenes_with_many_clusters_stay_small():
    rng = np.random.default_rng(0)
    scene = Scene(rng.random((700, 600, 5)), wavelengths=[450, 550, 650, 800, 900])
    labels = rng.integers(0, 60, scene.shape).astype(np.int32)
    model = fitted(field())
    large = Result(scene, labels, 60, model, True, rng.random(scene.shape))
    assert "and 40 more" in assert_harmless(large._repr_html_()).text
    assert_harmless(scene._repr_html_())


def test_a_prediction_with_an_empty_cluster_shows_itself(result):
    labels = np.where(result.labels == 2, -1, result.labels)
    predicted = Result.of_prediction(result.scene, result.model, labels, np.ones(labels.shape))
    page = assert_harmless(predicted._repr_html_())
    assert "unlike the fit" in page.text
    assert page.tags.count("polyline") == 2
    titles = [ax.get_title() for ax in predicted.plot().axes]
    assert titles[-2:] == ["Margin, 0 (dark) to 1 (yellow)", "Mean spectra, ± 1 standard deviation"]


def test_a_margin_has_the_same_scale_on_the_page_as_in_the_cell(result):
    margin = np.full(result.labels.shape, 0.2)
    margin[0] = 0.4
    predicted = Result.of_prediction(result.scene, result.model, result.labels, margin)
    [panel] = [ax for ax in predicted.plot().axes if ax.get_title().startswith("Margin")]
    assert panel.images[0].get_clim() == (0, 1)


def test_the_same_input_gives_the_same_cell(result):
    scene = field()
    assert Result.of_fit(scene, fitted(scene))._repr_html_() == result._repr_html_()


def test_the_base_install_shows_scenes_models_and_results(tmp_path):
    """Without the extras a cell still shows; what needs one says which."""
    code = """
import sys
for name in ("matplotlib", "jinja2", "xarray", "geopandas"):
    sys.modules[name] = None
from spectrawalk import SRDL, Result
from spectrawalk.datasets import make_scene
scene = make_scene((20, 16), n_bands=10, n_classes=2, random_state=0)
model = SRDL(n_clusters=2, n_neighbors=20, n_eigenpairs=5).fit(scene)
result = Result.of_fit(scene, model)
print(all("<svg" in each._repr_html_() for each in (model, result)), len(scene._repr_html_()) > 999)
for name in ("plot", "to_xarray", "to_geodataframe"):
    try:
        getattr(result, name)()
    except ImportError as error:
        print(error)
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    shown, *errors = done.stdout.splitlines()
    assert shown == "True True"
    extras = [re.search(r'pip install "spectrawalk\[(\w+)\]"`\.$', each)[1] for each in errors]
    assert extras == ["figures", "xarray", "vector"]


@needs_chromium
def test_cells_are_legible_in_light_and_dark(result):
    """The text has the colour of the notebook, and all pictures are there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 700})
        for ink in ("rgb(20, 20, 20)", "rgb(220, 220, 220)"):
            page.set_content(f'<body style="color:{ink}">{result._repr_html_()}</body>')
            assert page.evaluate("[...document.images].every(i => i.naturalWidth > 0)")
            colors = "[...document.querySelectorAll('td,text,figcaption')].map(" + (
                "e => getComputedStyle(e)[e.tagName == 'text' ? 'fill' : 'color'])"
            )
            assert set(page.evaluate(colors)) == {ink}
            assert page.evaluate("document.body.scrollWidth <= innerWidth")
        browser.close()


# Figures


def test_plot_gives_a_figure_that_a_notebook_shows(result):
    import pickle

    from matplotlib.figure import Figure

    figure = result.plot()
    assert isinstance(figure, Figure)
    assert figure._repr_html_().startswith('<img alt="figure"')
    assert len(pickle.loads(pickle.dumps(figure)).axes) == len(figure.axes) == 6


# xarray


def test_to_xarray_has_labels_certainty_and_their_place(result, tree):
    pytest.importorskip("xarray")
    data = result.to_xarray()
    np.testing.assert_array_equal(data.labels, result.labels)
    np.testing.assert_array_equal(data.margin, result.margin)
    assert data.labels.dtype == np.int32
    assert data.labels.attrs["flag_meanings"] == "cluster_1 cluster_2 cluster_3"
    assert (data.x.values[0], data.y.values[0]) == (500_015.0, 3_999_985.0)
    assert (np.diff(data.x) == 30).all()
    assert (np.diff(data.y) == -30).all()
    assert data.x.attrs["standard_name"] == "projection_x_coordinate"
    assert same_crs(data.spatial_ref.attrs["crs_wkt"])
    assert "confidence" in tree.to_xarray()
    plain = Result.of_fit(Scene(result.scene.cube, mask=result.scene.mask), result.model)
    assert set(plain.to_xarray().coords) == set()


def test_to_xarray_is_on_the_grid_of_the_map(result):
    pytest.importorskip("xarray")
    rows, cols = np.indices((30, 18))
    lookup = Orthorectification(
        np.where(rows < 24, 23 - rows, -1), cols, "EPSG:4326", (0.5, 0, 10, 0, -0.5, 45)
    )
    scene = field(crs=None, transform=None, orthorectify=lookup)
    data = Result.of_fit(scene, result.model).to_xarray()
    assert data.labels.shape == (30, 18)
    np.testing.assert_array_equal(data.labels[:24], result.labels[::-1])
    assert data.x.attrs == {"standard_name": "longitude", "units": "degrees_east"}
    turned = field(transform=(20, 10, 500_000, 10, -20, 4_000_000))
    data = Result.of_fit(turned, result.model).to_xarray()
    assert set(data.coords) == {"spatial_ref"}
    assert data.spatial_ref.attrs["GeoTransform"].startswith("500000.0 20.0 10.0 ")


def test_a_dataset_is_written_and_read_again(result, tmp_path):
    xarray = pytest.importorskip("xarray")
    path = tmp_path / "labels.nc"
    result.to_xarray().to_netcdf(path, engine="scipy")
    with xarray.open_dataset(path, engine="scipy", decode_coords="all") as again:
        np.testing.assert_array_equal(again.labels, result.labels)
        assert again.labels.encoding["grid_mapping"] == "spatial_ref"
        assert same_crs(again.spatial_ref.attrs["crs_wkt"])


def test_rioxarray_reads_place_and_system(result, tmp_path):
    pytest.importorskip("rioxarray")
    data = result.to_xarray()
    assert data.rio.crs == UTM
    assert data.labels.rio.crs == UTM
    assert tuple(data.rio.transform())[:6] == TRANSFORM
    data.labels.rio.to_raster(tmp_path / "labels.tif")
    with rasterio.open(tmp_path / "labels.tif") as source:
        assert source.crs == UTM
        np.testing.assert_array_equal(source.read(1), result.labels)


def test_a_result_of_tiles_says_where_the_whole_map_is(result):
    pytest.importorskip("xarray")
    thin = Result.of_fit(result.scene, result.model)
    object.__setattr__(thin, "thinned", Thinned((240, 180), 43_200, 10))
    with pytest.raises(DataError, match=r"one of 10 rows and columns; open labels\.tif"):
        thin.to_xarray()


# geopandas


def test_to_geodataframe_covers_the_map(result):
    pytest.importorskip("geopandas")
    frame = result.to_geodataframe()
    assert frame.cluster.tolist() == [1, 2, 3]
    assert frame.name.tolist() == list(result.map.names)
    assert frame.color[0] == "#0072b2"
    assert frame.pixels.tolist() == result.sizes.tolist()
    assert frame.crs == UTM.to_wkt()
    assert frame.is_valid.all()
    np.testing.assert_allclose(frame.area, 900 * frame.pixels)
    np.testing.assert_allclose(frame.area_m2, 900 * frame.pixels)
    burnt = rasterio.features.rasterize(
        zip(frame.geometry, frame.cluster, strict=True),
        result.labels.shape,
        transform=rasterio.Affine(*TRANSFORM),
    )
    np.testing.assert_array_equal(burnt, result.labels + 1)


def test_polygons_without_a_place_are_in_pixels(result):
    pytest.importorskip("geopandas")
    plain = Result.of_fit(Scene(result.scene.cube, mask=result.scene.mask), result.model)
    frame = plain.to_geodataframe()
    assert frame.crs is None
    assert frame.area_m2.isna().all()
    assert frame.total_bounds.tolist() == [0, -24, 18, -2]  # as QGIS shows a picture
