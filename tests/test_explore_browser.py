"""The explorer's page in headless Chromium, against a server of its own, without any network."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import start
from other_programs import CHROMIUM, needs_chromium

import spectrawalk
from spectrawalk import Scene
from spectrawalk.datasets import make_scene
from spectrawalk.io.scene_writers import write_scene
from spectrawalk.results.palette import cluster_colors

pytest.importorskip("starlette")
sync_api = pytest.importorskip("playwright.sync_api")
pytestmark = [needs_chromium, pytest.mark.slow]

SCENE = "indian-pines-subset"
ROWS, COLS = 50, 25
EVIL = "<img src=x onerror=alert(1)> & 'corn'"
PATIENCE = 20_000  # that an answer may take on a busy computer, in milliseconds


class Explorer:
    """A server on the folder of a run or on a scene, and a page of it in the browser."""

    def __init__(self, source, context):
        self.source, self.context = source, context
        self.port = None
        self.foreign, self.complaints = [], []
        context.route("**/*", self._only_local)
        self.page = context.new_page()
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.set_default_timeout(PATIENCE)

    def _only_local(self, route):
        if self.port and route.request.url.startswith(f"http://127.0.0.1:{self.port}/"):
            route.continue_()
        else:
            self.foreign.append(route.request.url)
            route.abort()

    def _note(self, message):
        # Of the tests, which read the canvas often; and while the scene is being opened.
        expected = "willReadFrequently" in message.text or "503" in message.text
        if message.type in ("error", "warning") and not expected:
            self.complaints.append(message.text)

    def start(self, *options, port=8765):
        arguments = [self.source, "--no-browser", "--port", port, *options]
        self.process = start("explore", *arguments)
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=\S+", line)
            if found:
                self.port, self.address = int(found[1]), found[0]
                return
        raise AssertionError(self.process.stderr.read())

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)

    def open(self):
        self.page.goto(self.address)
        self.wait("document.querySelectorAll('#legend li').length > 0")
        # Opaque, so that the canvas has the colours of the legend.
        self.page.locator("#opacity").fill("100")

    def wait(self, condition):
        # Not wait_for_function: it evaluates in the page, which the page's policy forbids.
        for _ in range(PATIENCE // 50):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never true: {condition}")

    def place(self, row, col, canvas="#map"):
        """Where the middle of a pixel is on the screen, as long as the whole image is shown."""
        box = self.page.locator(canvas).bounding_box()
        zoom = 0.98 * min(int(box["width"]) / COLS, int(box["height"]) / ROWS)
        return (
            box["x"] + int(box["width"]) / 2 + (col + 0.5 - COLS / 2) * zoom,
            box["y"] + int(box["height"]) / 2 + (row + 0.5 - ROWS / 2) * zoom,
        )

    def colors(self, pixels, canvas="#map"):
        """Colours on the canvas in the middle of some pixels."""
        box = self.page.locator(canvas).bounding_box()
        places = [self.place(row, col, canvas) for row, col in pixels]
        return self.page.evaluate(
            """([canvas, places]) => {
                const shown = document.querySelector(canvas).getContext("2d");
                return places.map(([x, y]) => Array.from(shown.getImageData(x, y, 1, 1).data));
            }""",
            [canvas, [[x - box["x"], y - box["y"]] for x, y in places]],
        )

    def expect(self, labels, pixels=None, colors=None):
        """The canvas shows these labels in these colours."""
        some = pixels or sampled(labels)
        table = cluster_colors(int(labels.max()) + 1).tolist() if colors is None else colors
        wanted = [[*table[labels[row, col]], 255] for row, col in some]
        for _ in range(50):
            if self.colors(some) == wanted:
                return
            self.page.wait_for_timeout(100)
        assert self.colors(some) == wanted

    def steps(self):
        return self.page.evaluate("fetch('/api/state').then(r => r.json())")["session"]

    def names(self):
        return self.page.locator("#legend .name").evaluate_all("all => all.map(e => e.value)")

    def select(self, *numbers):
        for number in numbers:
            self.page.locator(f"#legend li[data-cluster='{number}'] input[type=checkbox]").check()

    def tab(self, name):
        self.page.locator(f"#tab-{name}").click()


def sampled(labels):
    """Some pixels of each cluster, in its middle, where marks of the page are not drawn."""
    found = []
    for cluster in range(int(labels.max()) + 1):
        own = np.argwhere(labels == cluster)
        found += [own[len(own) // 3], own[len(own) // 2], own[-1]]
    return [(int(row), int(col)) for row, col in found]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run, made once."""
    folder = tmp_path_factory.mktemp("run") / "results"
    process = start("cluster", SCENE, "-o", folder, "--no-report", "--quiet")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return folder


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def explorer(finished, chromium, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(finished, folder)
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    found = Explorer(folder, context)
    found.start()
    try:
        found.open()
        yield found
    finally:
        found.stop()
        context.close()
    assert found.foreign == []
    assert found.complaints == []


@pytest.fixture
def model(finished):
    return spectrawalk.load(finished / "tree.npz")


def test_the_map_shows_the_labels_of_the_run(explorer, model):
    explorer.expect(model.labels_)
    assert explorer.names() == [f"cluster {k + 1}" for k in range(model.n_clusters_)]
    assert explorer.page.title().startswith(SCENE)
    sizes = explorer.page.locator("#legend .size").all_inner_texts()
    assert f"{np.count_nonzero(model.labels_ == 0):,} px" in sizes[0]
    assert explorer.page.evaluate(
        "document.documentElement.scrollWidth <= innerWidth"
        " && document.documentElement.scrollHeight <= innerHeight"
    )


def test_a_click_shows_the_pixel(explorer, model):
    row, col = 17, 12
    explorer.page.mouse.click(*explorer.place(row, col))
    explorer.page.get_by_role("heading", name=f"Row {row}, column {col}").wait_for()
    told = explorer.page.locator("#panel-pixel .facts").inner_text()
    assert f"cluster {model.labels_[row, col] + 1}" in told
    assert f"{model.confidence_[row, col]:.2f}" in told
    assert explorer.page.locator("#panel-pixel svg path").count() >= 3  # pixel, mean, spread
    readout = explorer.page.locator("#readout").inner_text()
    assert f"row {row}, column {col}" in readout
    # The window and the neighbours are drawn over the map: white dots that no cluster has.
    near = explorer.page.evaluate(f"fetch('/api/pixel?row={row}&col={col}').then(r => r.json())")
    one = next(each for each in near["windowed"] if abs(each["row"] - row) > 2)
    assert explorer.colors([(one["row"], one["col"])]) == [[255, 255, 255, 255]]
    explorer.page.get_by_role("radio", name="None").check()
    explorer.page.wait_for_timeout(200)
    assert explorer.colors([(one["row"], one["col"])]) != [[255, 255, 255, 255]]
    far = next(each for each in near["everywhere"] if abs(each["row"] - row) > 1)
    explorer.page.get_by_label("In the whole image").check()
    explorer.page.wait_for_timeout(200)
    assert explorer.colors([(far["row"], far["col"])]) == [[230, 159, 0, 255]]


def test_the_slider_repaints_only_the_cluster_that_splits(explorer, model):
    k = model.n_clusters_
    explorer.page.locator("#k").focus()
    for wanted in (k + 1, k + 2, k + 3):
        before, after = model.cut(wanted - 1), model.cut(wanted)
        explorer.page.keyboard.press("ArrowRight")
        explorer.expect(after)
        changed = before != after
        assert len(np.unique(before[changed])) == 1
    explorer.wait(f"document.querySelector('#k-value').textContent === '{k + 3}'")
    explorer.wait("!document.querySelector('#undo').disabled")
    assert len(explorer.names()) == k + 3


def test_the_slider_needs_no_request_while_it_moves(explorer, model):
    asked = []
    explorer.page.on("request", lambda request: asked.append(request.url))
    shown = explorer.page.evaluate(
        """async () => {
            const slider = document.querySelector("#k");
            const colors = [];
            for (const k of [9, 17, 30]) {
                slider.value = k;
                slider.dispatchEvent(new Event("input", { bubbles: true }));
                const map = document.querySelector("#map");
                const data = map.getContext("2d").getImageData(0, 0, map.width, map.height);
                colors.push(new Set(new Uint32Array(data.data.buffer)).size);
            }
            return colors;
        }"""
    )
    assert shown[0] < shown[1] < shown[2]
    assert [url for url in asked if "/alive" not in url] == []


def test_the_line_in_the_tree_is_dragged(explorer, model):
    grip = explorer.page.locator("#tree .handle .grip")
    box = grip.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    explorer.page.mouse.move(x, y)
    explorer.page.mouse.down()
    explorer.page.mouse.move(x, y + 40, steps=6)
    explorer.page.mouse.up()
    k = int(explorer.page.locator("#tree .handle").get_attribute("aria-valuenow"))
    assert k > model.n_clusters_
    explorer.expect(model.cut(k))
    explorer.page.locator("#tree .handle").press("ArrowUp")
    explorer.expect(model.cut(k - 1))


def test_merge_split_name_color_hide_undo_redo(explorer, model):
    page, labels = explorer.page, model.labels_
    merged = np.where(labels == 1, 0, labels)
    explorer.select(0, 1)
    page.locator("#merge").click()
    page.locator("#clear").click()
    explorer.expect(merged, sampled(labels))
    assert len(explorer.names()) == model.n_clusters_ - 1

    page.keyboard.press("Control+z")
    explorer.expect(labels)
    page.keyboard.press("Control+Shift+z")
    explorer.expect(merged, sampled(labels))
    page.locator("#undo").click()
    explorer.expect(labels)

    explorer.select(0)
    page.locator("#split").click()
    explorer.wait(f"document.querySelectorAll('#legend li').length === {model.n_clusters_ + 1}")
    page.locator("#clear").click()
    own = explorer.colors([tuple(map(int, pixel)) for pixel in np.argwhere(labels == 0)])
    assert len({tuple(color) for color in own}) == 2

    name = page.get_by_label("Name of cluster 1")
    name.fill(EVIL)
    name.press("Enter")
    explorer.wait("document.querySelectorAll('#tree title')[0] !== undefined")
    explorer.page.wait_for_timeout(300)
    assert EVIL in explorer.names()
    assert page.locator("#legend img, #tree img, #panel-edit img").count() == 0

    page.locator("#legend li[data-cluster='0'] input[type=color]").fill("#ff00ff")
    page.locator("#legend li[data-cluster='0'] input[type=color]").dispatch_event("change")
    explorer.wait("document.querySelector('#legend input[type=color]').value === '#ff00ff'")
    own = explorer.colors([tuple(map(int, pixel)) for pixel in np.argwhere(labels == 0)])
    assert [255, 0, 255, 255] in own

    page.get_by_role("button", name=f"Hide {EVIL}").click()
    page.get_by_role("button", name=f"Hide {EVIL}", pressed=True).wait_for()
    own = explorer.colors([tuple(map(int, pixel)) for pixel in np.argwhere(labels == 0)])
    assert [255, 0, 255, 255] not in own

    undone = explorer.steps()["undo"]
    for _ in range(undone):
        page.locator("#undo").click()
        page.wait_for_timeout(150)
    explorer.expect(labels)
    assert page.locator("#undo").is_disabled()


def test_a_polygon_gets_a_class(explorer, model):
    page = explorer.page
    explorer.tab("edit")
    page.locator("#polygon-name").fill("road")
    page.locator("#polygon-draw").click()
    for row, col in ((5, 5), (5, 15), (15, 15), (15, 5)):
        page.mouse.click(*explorer.place(row, col))
    page.locator("#map").press("Enter")
    explorer.wait("[...document.querySelectorAll('#legend .name')].some(e => e.value === 'road')")
    inside = {tuple(c) for c in explorer.colors([(8, 8), (10, 10), (13, 13), (7, 13)])}
    assert len(inside) == 1
    outside = explorer.colors([(2, 2)])[0]
    assert outside[:3] == cluster_colors(8)[model.labels_[2, 2]].tolist()
    page.locator("#undo").click()
    explorer.expect(model.labels_)


def test_three_questions(explorer):
    page = explorer.page
    explorer.tab("ask")
    page.locator("#ask-start").click()
    for number, answer in ((1, "corn"), (2, None), (3, "soybeans")):
        page.get_by_role("heading", name=f"Question {number} of 3").wait_for()
        if answer is None:
            page.locator("#answer-unknown").click()
        else:
            page.locator("#answer-class").fill(answer)
            page.locator("#answer-give").click()
    page.get_by_role("heading", name="Answers (3)").wait_for()
    told = page.locator("#panel-ask table").inner_text()
    assert "corn" in told
    assert "soybeans" in told
    assert "not known" in told
    page.locator("#classify").click()
    explorer.wait("document.querySelectorAll('#legend li').length === 2")
    assert sorted(explorer.names()) == ["corn", "soybeans"]


def test_a_restart_keeps_the_session(explorer, model):
    page = explorer.page
    name = page.get_by_label("Name of cluster 2")
    name.fill("meadow")
    name.press("Enter")
    explorer.wait("!document.querySelector('#undo').disabled")
    explorer.stop()
    page.get_by_text("The server does not answer").wait_for()
    before = explorer.port
    explorer.start(port=before)
    assert explorer.port == before
    page.locator("#trouble").wait_for(state="hidden")
    assert "meadow" in explorer.names()
    page.locator("#undo").click()
    explorer.wait("document.querySelector('#undo').disabled")
    assert "meadow" not in explorer.names()
    page.locator("#redo").click()
    explorer.wait("document.querySelector('#redo').disabled")

    # A browser that was closed meanwhile needs the new address.
    other = explorer.context.browser.new_context()
    fresh = other.new_page()
    assert fresh.goto(explorer.address.split("?")[0]).status == 403
    fresh.goto(explorer.address)
    fresh.locator("[aria-label='Name of cluster 2']").wait_for()
    assert fresh.locator("[aria-label='Name of cluster 2']").input_value() == "meadow"
    other.close()
    explorer.complaints[:] = [each for each in explorer.complaints if "ERR_CONNECTION" not in each]


def test_a_lost_server_comes_back(explorer):
    page, refuse = explorer.page, True

    def maybe(route):
        route.abort() if refuse else route.fallback()

    page.route("**/api/**", maybe)
    page.get_by_text("The server does not answer").wait_for()
    refuse = False
    page.get_by_text("The server does not answer").wait_for(state="hidden")
    page.mouse.click(*explorer.place(10, 10))
    page.get_by_role("heading", name="Row 10, column 10").wait_for()
    explorer.complaints[:] = [each for each in explorer.complaints if "ERR_FAILED" not in each]


def test_an_error_is_one_sentence_on_the_page(explorer):
    page = explorer.page
    page.evaluate("""import("/page/store.js").then(({ step }) => step({ op: "cut", k: 5000 }))""")
    page.locator("#trouble p").wait_for()
    told = page.locator("#trouble p").inner_text()
    assert told.endswith(".")
    assert "5000" in told
    page.locator("#trouble").get_by_role("button", name="Close").click()
    assert page.locator("#trouble").is_hidden()
    explorer.complaints[:] = [each for each in explorer.complaints if "400" not in each]


def test_layers_and_the_second_map(explorer, model):
    page = explorer.page
    page.locator("#layer").select_option("disagreement")
    page.locator("#map-caption").get_by_text("differs from the ground truth").wait_for()
    page.locator("#beside").select_option("clusters")
    page.wait_for_timeout(500)
    row, col = sampled(model.labels_)[0]
    shown = explorer.colors([(row, col)], canvas="#map-beside")[0]
    assert shown[:3] == cluster_colors(8)[model.labels_[row, col]].tolist()
    page.locator("#layer").select_option("certainty")
    page.locator("#map-caption").get_by_text("confidence").wait_for()
    explorer.page.wait_for_timeout(500)
    pixels = sampled(model.labels_)
    most = max(pixels, key=lambda pixel: model.confidence_[pixel])
    least = min(pixels, key=lambda pixel: model.confidence_[pixel])
    bright, dark = explorer.colors([most, least])
    assert sum(bright[:3]) > sum(dark[:3])


def test_a_box_in_the_embedding_is_seen_on_the_map(explorer, model):
    page = explorer.page
    before = explorer.colors(sampled(model.labels_))
    explorer.tab("embedding")
    page.locator("#box-told").get_by_text("Drag a box").wait_for()
    box = page.locator("#scatter").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    page.locator("#box-told").get_by_text("are in the box").wait_for()
    page.wait_for_timeout(300)
    assert explorer.colors(sampled(model.labels_)) != before
    page.get_by_role("button", name="Remove the box").click()
    page.wait_for_timeout(300)
    assert explorer.colors(sampled(model.labels_)) == before


def test_export_writes_what_the_page_lists(explorer):
    page = explorer.page
    explorer.tab("export")
    page.locator("#export-folder").fill("mine")
    page.locator("#export-report").uncheck()
    page.locator("#export-go").click()
    page.locator("#export-path").wait_for()
    folder = Path(page.locator("#export-path").inner_text())
    listed = page.locator("#written li code").all_inner_texts()
    assert "labels.tif" in listed
    assert all((folder / name).is_file() for name in listed)
    assert json.loads((folder / "run.json").read_text())
    assert folder.name == "mine"
    page.locator("#export-go").click()  # not over the first, unless it is asked for
    page.locator("#trouble p").wait_for()
    assert "mine" in page.locator("#trouble p").inner_text()
    page.locator("#export-overwrite").check()
    page.locator("#export-go").click()
    page.locator("#trouble").wait_for(state="hidden")
    explorer.complaints[:] = [each for each in explorer.complaints if "400" not in each]


def test_a_run_starts_is_cancelled_and_another_is_compared(explorer, model):
    page = explorer.page
    explorer.tab("run")
    page.locator("#run-detail").fill("materials")
    page.locator("#run-start").click()
    page.locator(".run-cancel").click()
    page.locator("[data-run='2'][data-status='cancelled']").wait_for()
    page.locator("#run-method").select_option("SRDL")
    page.locator("#run-n_clusters").fill("3")
    page.locator("#run-n_neighbors").fill("20")
    page.locator("#run-n_eigenpairs").fill("5")
    page.locator("#run-start").click()
    page.locator("[data-run='3'][data-status='done']").wait_for(timeout=120_000)
    page.locator("#compare-go").click()
    page.locator("#compare table").wait_for()
    cells = page.locator("#compare td.number").all_inner_texts()
    counted = sum(int(cell.replace(",", "")) for cell in cells if cell)
    assert counted == np.count_nonzero(model.labels_ >= 0)
    assert page.locator("#second").is_visible()
    page.locator("[data-run='3']").get_by_role("button", name="Show this run").click()
    explorer.wait("document.querySelectorAll('#legend li').length === 3")
    page.locator(".curve svg").wait_for()  # the sorted D_t
    page.mouse.click(*explorer.place(20, 12))
    page.get_by_label("Path to the mode").check()
    page.locator("#k").press("ArrowRight")
    explorer.wait("document.querySelectorAll('#legend li').length === 4")
    page.get_by_role("slider", name="Consensus radius").press("ArrowLeft")
    explorer.wait("document.querySelectorAll('.history li, #panel-edit li').length === 2")
    page.locator("#undo").click()
    page.locator("#undo").click()
    explorer.wait("document.querySelectorAll('#legend li').length === 3")


def test_a_change_in_one_tab_is_seen_in_another(explorer, model):
    other = explorer.context.new_page()
    other.goto(explorer.address.split("?")[0])
    name = other.get_by_label("Name of cluster 1")
    name.fill("forest")
    name.press("Enter")
    explorer.wait("document.querySelector('#legend .name').value === 'forest'")
    history = explorer.page.locator("#panel-edit .history").text_content()
    assert "forest" in history
    explorer.page.locator("#undo").click()
    for _ in range(100):
        if name.input_value() == "cluster 1":
            break
        other.wait_for_timeout(100)
    assert name.input_value() == "cluster 1"
    other.close()


def test_the_map_is_used_by_keyboard(explorer):
    page = explorer.page
    page.locator("#map").focus()
    before = explorer.colors([(10, 10), (40, 10)])
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    page.wait_for_timeout(200)
    assert explorer.colors([(10, 10), (40, 10)]) == before
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=re.compile(r"Row \d+, column \d+")).wait_for()
    page.keyboard.press("Space")
    explorer.wait("document.querySelectorAll('#legend li.selected').length === 1")


def test_a_scene_with_coordinates_and_excluded_bands(chromium, tmp_path):
    made = make_scene(shape=(40, 30), n_bands=40, n_classes=3, random_state=0)
    cube = made.cube.copy()
    cube[..., 12:15] = 5  # constant: excluded
    cube[:3] = 0  # no data
    write_scene(
        tmp_path / "field.tif",
        Scene(
            cube,
            mask=cube[..., 0] > 0,
            wavelengths=np.linspace(450, 2400, 40),
            crs="EPSG:32616",
            transform=(30.0, 0, 500_000.0, 0, -30.0, 4_400_000.0),
        ),
    )
    process = start(
        "cluster", tmp_path / "field.tif", "-o", tmp_path / "results", "--no-report", "--quiet"
    )
    assert process.wait(timeout=300) == 0
    explorer = Explorer(tmp_path / "results", chromium.new_context())
    explorer.start()
    try:
        explorer.open()
        page = explorer.page
        box = page.locator("#map").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        told = page.locator("#readout").inner_text()
        found = re.search(r"row (\d+), column (\d+).*?x ([\d.]+), y ([\d.]+) \((.+?)\)", told)
        row, col = int(found[1]), int(found[2])
        assert float(found[3]) == 500_000 + 30 * (col + 0.5)
        assert float(found[4]) == 4_400_000 - 30 * (row + 0.5)
        assert "UTM" in found[5] or "32616" in found[5]
        excluded = page.evaluate("fetch('/api/state').then(r => r.json())")["scene"]["excluded"]
        assert len(excluded) >= 1
        assert page.locator("#panel-pixel svg rect.excluded").count() == len(excluded)
        assert "wavelength" in page.locator("#panel-pixel svg.chart").text_content()
        sizes = page.locator("#legend .size").all_inner_texts()
        assert all(re.search(r"(ha|m\u00b2)", each) for each in sizes)
        page.locator("#composite").select_option("infrared")
        page.locator("#map-caption").get_by_text("850 nm").wait_for()
    finally:
        explorer.stop()
        explorer.context.close()
    assert explorer.foreign == []
    assert explorer.complaints == []


def test_a_scene_is_opened_while_the_page_waits(chromium, tmp_path):
    explorer = Explorer(SCENE, chromium.new_context())
    explorer.start("-o", tmp_path / "results")
    try:
        explorer.page.goto(explorer.address)
        explorer.page.get_by_role("heading", name="Reading and clustering the scene").wait_for()
        explorer.wait("document.querySelectorAll('#legend li').length > 0")
        assert explorer.page.locator("#map").is_visible()
    finally:
        explorer.stop()
        explorer.context.close()
    assert explorer.foreign == []


def test_a_scene_that_cannot_be_read_is_told_on_the_page(chromium, tmp_path):
    scene = make_scene(shape=(20, 20), n_bands=20, n_classes=2, random_state=0)
    write_scene(tmp_path / "cut.hdr", scene)
    data = next(each for each in tmp_path.iterdir() if each.suffix != ".hdr")
    data.write_bytes(data.read_bytes()[:999])
    explorer = Explorer(tmp_path / "cut.hdr", chromium.new_context())
    explorer.start("-o", tmp_path / "results")
    try:
        explorer.page.goto(explorer.address)
        explorer.page.locator("#trouble p").wait_for()
        told = explorer.page.locator("#trouble p").inner_text()
        assert data.name in told
        assert told.endswith(".")
        assert explorer.page.locator("#map").is_hidden()
    finally:
        explorer.stop()
        explorer.context.close()


# ---- small windows


@pytest.mark.parametrize("size", [(900, 700), (800, 600), (390, 844)])
def test_a_small_window_shows_the_map_and_is_no_wider_than_itself(explorer, model, size):
    page = explorer.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.wait_for_timeout(300)
    assert page.locator("#map").bounding_box()["height"] > 0.4 * size[1]
    page.locator("#map").scroll_into_view_if_needed()
    explorer.expect(model.labels_)
    for view in ("pixel", "edit", "ask", "embedding", "run", "export"):
        explorer.tab(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], view


# ---- accessibility

THEMES_AND_SIZES = [
    ("light", (1280, 800)),
    ("dark", (1280, 800)),
    ("light", (1920, 1080)),
]


@pytest.mark.parametrize(("scheme", "size"), THEMES_AND_SIZES)
def test_no_serious_finding_of_axe_in_any_view(explorer, scheme, size):
    axe = pytest.importorskip("axe_playwright_python")
    source = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    page = explorer.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_timeout(300)
    page.evaluate(source)
    page.mouse.click(*explorer.place(22, 12))
    page.locator("#pixel-title").wait_for()
    explorer.select(0)
    found = []
    for view in ("pixel", "edit", "ask", "embedding", "run", "export", "keys"):
        if view == "keys":
            page.locator("#keys").click()
        else:
            explorer.tab(view)
        if view == "ask":
            page.locator("#ask-start").click()
            page.locator("#answer-class").wait_for()
        page.wait_for_timeout(400)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            (view, each["id"], each["impact"], [node["html"][:120] for node in each["nodes"]][:3])
            for each in result["violations"]
        ]
    assert [each for each in found if each[2] in ("serious", "critical")] == []
    assert page.evaluate(
        "document.documentElement.scrollWidth <= innerWidth"
        " && document.documentElement.scrollHeight <= innerHeight"
    )


def test_tab_goes_through_the_page_without_a_trap(explorer):
    page = explorer.page
    page.locator(".skip").focus()
    seen = []
    for _ in range(80):
        page.keyboard.press("Tab")
        here = page.evaluate(
            """() => {
                const e = document.activeElement;
                if (e === document.body) return null;
                const box = e.getBoundingClientRect();
                const shown = getComputedStyle(e);
                return [e.id || e.className.baseVal || e.className || e.textContent,
                        box.width > 0 && box.height > 0,
                        shown.outlineStyle !== "none" || e.closest("svg") !== null];
            }"""
        )
        if here is None and seen:
            break
        seen.append(here)
    else:
        raise AssertionError(f"Tab does not leave the page: {seen[-5:]}")
    names = [each[0] for each in seen]
    assert all(each[1] and each[2] for each in seen), seen
    order = ["theme", "name", "layer", "map", "k", "handle", "tab-pixel", "panel-pixel"]
    places = [names.index(each) for each in order]
    assert places == sorted(places)


def test_the_theme_follows_the_system_and_the_button(explorer):
    page = explorer.page
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.emulate_media(color_scheme="dark")
    explorer.wait(f"{paper} !== '{light}'")
    page.locator("#theme").click()
    assert page.evaluate(paper) == light
    page.reload()
    explorer.wait("document.querySelectorAll('#legend li').length > 0")
    assert page.evaluate(paper) == light  # the choice is kept
