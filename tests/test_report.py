"""The report: complete, escaped, offline, and alive in a browser."""

import base64
import re
from html.parser import HTMLParser
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest
import rasterio
from other_programs import CHROMIUM, needs_chromium
from PIL import Image

from spectrawalk import SRDL, Scene, SpectraWalk
from spectrawalk.consensus.levels import Level
from spectrawalk.datasets import make_scene
from spectrawalk.prepare.bands import prepare_scene
from spectrawalk.report.charts import number_chart
from spectrawalk.report.levels import MOST, level_maps, level_numbers
from spectrawalk.report.page import report_html
from spectrawalk.report.pictures import thinning
from spectrawalk.results.captions import describe_detail
from spectrawalk.results.certainty import mode_margin
from spectrawalk.results.palette import NO_DATA, cluster_colors
from spectrawalk.results.result import Result
from spectrawalk.scene import Orthorectification

UTM = rasterio.CRS.from_epsg(32616).to_wkt()
EVIL = "<script>alert(1)</script> & \"q\" '田' \udcff"


def clustered(**changes):
    made = make_scene(shape=(24, 18), n_bands=12, n_classes=3, random_state=0)
    cube = made.cube.copy()
    cube[:2] = 0
    cube[..., 3] = 5  # a constant band
    scene = Scene(
        cube,
        mask=cube[..., 0] > 0,
        name=changes.pop("name", "field"),
        wavelengths=np.linspace(1000, 1550, 12),
        metadata={"masked_all_zero": 36},
        **{"crs": UTM, "transform": (30.0, 0, 500_000.0, 0, -30.0, 4_400_000.0)} | changes,
    )
    scene, _ = prepare_scene(scene)
    model = SRDL(n_clusters=3, n_neighbors=20, n_eigenpairs=5).fit(scene)
    return scene, model


def page_of(scene, model, record=None):
    return report_html(Result.of_fit(scene, model), record or {"note": EVIL}).decode("utf-8")


class Texts(HTMLParser):
    """The words of a page and the addresses it names."""

    def __init__(self):
        super().__init__()
        self.words, self.addresses = [], []

    def handle_data(self, data):
        self.words.append(data)

    def handle_starttag(self, tag, attrs):
        self.addresses += [v for k, v in attrs if k in ("src", "href", "action", "xlink:href")]


def read(page):
    parser = Texts()
    parser.feed(page)
    return " ".join(" ".join(parser.words).split()), parser.addresses


def test_the_page_says_what_was_found_and_used():
    scene, model = clustered()
    words, _ = read(page_of(scene, model))
    sizes = np.bincount(model.labels_[model.labels_ >= 0])
    for size in sizes:
        assert f"{size:,} {size / sizes.sum():.1%} {size * 0.09:,.2f} ha" in words
    assert "8 bands and 396 pixels were used, 36 pixels masked" in words
    assert "36 pixels masked zero in every band" in words
    assert "3 bands dropped water vapour, 1350 to 1450 nm" in words
    assert "1 band dropped one value everywhere" in words
    assert "WGS 84 / UTM zone 16N" in words
    assert "SRDL: 3 clusters, window radius 8" in words
    for heading in ("Map", "Clusters", "Spectra of the clusters", "Number of clusters"):
        assert heading in words
    assert "ground truth" not in words
    # Bands from 1000 nm on have no visible light.
    assert "False colour , " in words
    assert "nm as red, green and blue" in words


def test_the_ground_truth_is_shown_where_there_is_one():
    truth = make_scene(shape=(24, 18), n_bands=12, n_classes=3, random_state=0).ground_truth
    scene, model = clustered(ground_truth=truth, class_names={1: "oats & <rye>"})
    words, addresses = read(page_of(scene, model))
    assert "Agreement with the ground truth" in words
    assert "oats & <rye>" in words
    assert sum(each.startswith("data:image/png") for each in addresses) == 6


def test_numbers_beside_an_axis_do_not_push_its_name_off_the_chart():
    _, model = clustered()
    # Within one power of ten the axis has long numbers, such as 6 x 10^-4.
    model.mode_score_ = np.linspace(9e-4, 1.5e-4, model.mode_score_.size).reshape(
        model.mode_score_.shape
    )
    svg = number_chart(model)
    name = re.search(r"<g[^>]* transform=\"translate\(([\d.-]+) [\d.-]+\) rotate\(-90\)", svg)
    assert float(name[1]) > 8  # points: the height of its letters


def test_nothing_is_fetched_from_anywhere():
    page = page_of(*clustered())
    _, addresses = read(page)
    assert all(each.startswith(("data:image/png;base64,", "#")) for each in addresses)
    assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttpRequest", page)
    assert "default-src &#39;none&#39;" in page


def test_names_from_files_cannot_become_markup():
    scene, model = clustered(name=EVIL)
    page = page_of(scene, model, record={"inputs": [{"path": EVIL, "sha256": EVIL}]})
    assert "<script>alert" not in page
    words, _ = read(page)
    assert "<script>alert(1)</script> & \"q\" '田'" in words


def test_the_same_run_gives_the_same_page():
    scene, model = clustered()
    assert page_of(scene, model) == page_of(scene, model)


def test_a_large_map_is_thinned_out_and_says_so():
    assert thinning((1500, 10)) == 1
    scene, model = clustered()
    lookup = Orthorectification(
        np.arange(4000, dtype=np.int32)[:, None] % 24, np.zeros((4000, 1), dtype=np.int32)
    )
    scene = Scene(scene.cube, scene.mask, orthorectify=lookup)
    words, _ = read(page_of(scene, model))
    assert "Shown: one of 3 rows and columns" in words


@pytest.fixture(scope="module")
def tree():
    """A scene with a masked corner, and its clusters at several levels."""
    made = make_scene(shape=(40, 30), n_bands=20, n_classes=4, region_size=14, random_state=3)
    mask = np.ones((40, 30), dtype=bool)
    mask[:4, :5] = False
    scene = Scene(made.cube, mask)
    return scene, SpectraWalk().fit(scene)


def pixels(picture):
    content = base64.b64decode(picture["address"].partition(",")[2])
    return np.asarray(Image.open(BytesIO(content)).convert("RGB"))


def test_the_levels_of_a_tree_are_small_maps_in_the_same_colours(tree):
    scene, model = tree
    assert len(model.levels_) >= 2
    for number in (model.n_clusters_, 9):
        pictures = level_maps(Result.of_fit(scene, model.at(number)))["pictures"]
        expected = sorted({number, *(level.n_clusters for level in model.levels_)})
        assert [each["name"] for each in pictures] == [f"{k} clusters" for k in expected]
        assert [each["shown"] for each in pictures] == [k == number for k in expected]
        for k, picture in zip(expected, pictures, strict=True):
            labels, colors = model.cut(k), cluster_colors(64)
            assert (pixels(picture)[scene.mask] == colors[labels[scene.mask]]).all()
            assert (pixels(picture)[~scene.mask] == NO_DATA).all()


def test_the_page_of_a_tree_tells_levels_and_detail(tree):
    scene, model = tree
    page = page_of(scene, model.at(9))
    words, addresses = read(page)
    assert "9 clusters , shown" in words
    assert page.count('<figure class="shown">') == 1
    assert "A cluster keeps its number and colour as long as it is not split." in words
    detail = describe_detail(model)
    assert detail[1:] + "." in words
    assert f"{100 * model.measured_detail_:.1f} % of the spectral variation" in detail
    levels = {9, *(level.n_clusters for level in model.levels_)}
    assert sum(each.startswith("data:image/png") for each in addresses) == 5 + len(levels)


def test_pages_without_several_levels_have_no_small_maps(tree):
    scene, model = tree
    assert level_maps(Result.of_fit(*clustered())) is None
    noise = Scene(np.random.default_rng(0).normal(1, 0.1, size=(20, 20, 12)))
    found = SpectraWalk().fit(noise)
    assert level_maps(Result.of_fit(noise, found)) is None
    assert 'class="levels"' not in page_of(noise, found)
    labels, margin = model.predict_with_margin(scene)
    predicted = Result.of_prediction(scene, model, labels, margin)
    assert level_maps(predicted) is None
    assert 'class="levels"' not in report_html(predicted, {}).decode("utf-8")


@pytest.mark.parametrize("shown", [1, 2, 12, 30])
def test_of_many_levels_those_are_drawn_that_stand_out(shown):
    lifetimes = {2: 0.05, 3: 0.06, 4: 0.3, 6: 0.07, 8: 0.2, 9: 0.08, 11: 0.09, 12: 0.01}
    levels = [Level(*each) for each in lifetimes.items()]
    numbers = level_numbers(SimpleNamespace(levels_=levels, n_clusters_=shown))
    assert numbers == sorted(set(numbers))
    assert len(numbers) == MOST
    assert {shown, 2, 4, 8, 12} <= set(numbers)


@pytest.mark.parametrize(
    ("detail", "used", "told"),
    [
        ("auto", 0.1, "detail 0.10, from the image: 12.0 % of the spectral variation lies between"),
        ("materials", 1.0, "detail 1.00, as asked for: 12.0 % .* by its own spectrum"),
        (0.5, 0.5, "as asked for: .* on smoothed images and on single pixels count about alike"),
    ],
)
def test_the_detail_is_told_in_words(detail, used, told):
    model = SimpleNamespace(detail=detail, detail_=used, measured_detail_=0.12)
    assert re.search(told, describe_detail(model))


def test_small_maps_of_a_large_scene_are_thinned_out(tree):
    scene, model = tree
    lookup = Orthorectification(
        np.arange(1000, dtype=np.int32)[:, None] % 40, np.zeros((1000, 1), dtype=np.int32)
    )
    found = level_maps(Result.of_fit(Scene(scene.cube, scene.mask, orthorectify=lookup), model))
    assert found["step"] == 3
    assert pixels(found["pictures"][0]).shape == (334, 1, 3)


@needs_chromium
def test_the_page_lives_in_a_browser_without_a_network(tmp_path):
    from playwright.sync_api import sync_playwright

    assert CHROMIUM is not None
    scene, model = clustered(name=EVIL)
    (tmp_path / "report.html").write_text(page_of(scene, model), encoding="utf-8")
    complaints, asked = [], []

    def allow_only_the_page(route):
        asked.append(route.request.url)
        route.continue_() if route.request.url.startswith("file:") else route.abort()

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.route("**/*", allow_only_the_page)
        page.goto((tmp_path / "report.html").as_uri())
        maps = page.locator("img.map")
        assert maps.count() == 4
        assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
        box = maps.first.bounding_box()
        row, col = 10, 4
        page.mouse.move(
            box["x"] + box["width"] * (col + 0.5) / 18, box["y"] + box["height"] * (row + 0.5) / 24
        )
        told = page.locator("#readout").inner_text()
        cluster = int(model.labels_[row, col]) + 1
        margin = mode_margin(model.coordinates_, model.modes_).image[row, col]
        assert f"row {row}, column {col}" in told
        assert "x 500135.0, y 4399685.0" in told
        assert f"cluster {cluster}, margin {margin:.2f}" in told
        faded = page.locator("#spectra .faded").count()
        assert faded > 0
        page.mouse.move(5, 5)
        assert page.locator("#spectra .faded").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        browser.close()
    assert complaints == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
