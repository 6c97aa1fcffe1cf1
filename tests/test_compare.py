"""Two maps compared: the change matrix, the matching of clusters, and where maps lie."""

from dataclasses import replace

import numpy as np
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from two_dates import two_dates

from spectrawalk import compare_maps
from spectrawalk.errors import DataError, FileError, ParameterError
from spectrawalk.io.cluster_spectra import StoredSpectra
from spectrawalk.io.geotiff_map import write_map
from spectrawalk.io.label_map import LabelMap, holds_scene, read_label_map
from spectrawalk.io.shared_legend import shared_legend
from spectrawalk.report.comparison import compare_label_maps
from spectrawalk.report.comparison_folder import changes_csv, comparison_record
from spectrawalk.report.comparison_page import comparison_html
from spectrawalk.results.cluster_map import ClusterMap, Legend, pixel_areas
from spectrawalk.results.comparison import Entry
from spectrawalk.results.matching import common_bands, match_spectra
from spectrawalk.results.spectra import cluster_spectra
from spectrawalk.scene.alignment import Place, common_window

UTM = (30.0, 0.0, 500000.0, 0.0, -30.0, 4500000.0)


def counted(before, after, n):
    """The matrix, counted pixel by pixel."""
    matrix = np.zeros((n + 1, n + 1), int)
    for one, other in zip(before.ravel(), after.ravel(), strict=True):
        matrix[one - 1, other - 1] += 1  # -1 is the last: no data
    return matrix


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_the_matrix_of_a_known_change_equals_the_truth(share):
    _, _, before, after = two_dates(share)
    before, after = before.copy(), after.copy()
    before[5, :7], after[:3, 11] = 0, 0
    areas = pixel_areas(40, "EPSG:32633", UTM)
    found = compare_maps(before, after, match="numbers", no_label=0, row_areas=areas)
    expected = counted(before, after, 4)
    np.testing.assert_array_equal(found.pixels, expected)
    np.testing.assert_array_equal(found.areas, expected * 900.0)
    assert found.areas.sum() == before.size * 900.0  # the whole scene
    valid = (before > 0) & (after > 0)
    assert found.compared == valid.sum()
    assert found.changed == (valid & (before != after)).sum()
    for place, change in enumerate(found.changes):
        there = valid & (before == change.before + 1) & (after == change.after + 1)
        np.testing.assert_array_equal(found.codes == 2 + place, there)
        assert change.pixels == there.sum()
    np.testing.assert_array_equal(found.codes == 1, valid & (before == after))
    np.testing.assert_array_equal(found.codes == 0, ~valid)
    sizes = [each.pixels for each in found.changes]
    assert sizes == sorted(sizes, reverse=True)


@given(arrays(np.int8, (6, 7), elements=st.integers(-1, 4)), st.permutations(range(5)))
def test_other_numbers_change_nothing_where_no_pixel_changed(before, order):
    if (before < 0).all():
        return
    after = np.where(before >= 0, np.array(order)[before] * 9 + 300, -1)
    found = compare_maps(before, after)
    assert found.changed == 0
    assert found.unchanged == (before >= 0).sum()
    assert found.changes == ()
    present = np.unique(before[before >= 0]).tolist()
    assert found.matching == {each: order[each] * 9 + 300 for each in present}


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int16, np.int64])
def test_all_types_and_blocks_give_the_same(kind, monkeypatch):
    _, _, before, after = two_dates()
    expected = compare_maps(before, after, no_label=0)
    monkeypatch.setattr("spectrawalk.results.comparison._BLOCK_PIXELS", 130)
    found = compare_maps(before.astype(kind), after.astype(kind), no_label=0)
    np.testing.assert_array_equal(found.pixels, expected.pixels)
    np.testing.assert_array_equal(found.codes, expected.codes)


def test_areas_in_degrees_follow_the_latitude():
    _, _, before, after = two_dates()
    areas = pixel_areas(40, "EPSG:4326", (0.5, 0.0, 10.0, 0.0, -0.5, 60.0))
    found = compare_maps(before, after, match="numbers", no_label=0, row_areas=areas)
    for one in range(4):
        for other in range(4):
            there = (before == one + 1) & (after == other + 1)
            expected = (there * areas[:, np.newaxis]).sum()
            assert found.areas[one, other] == pytest.approx(expected, rel=1e-12)
    assert found.areas.sum() == pytest.approx(areas.sum() * 50, rel=1e-12)


def test_a_cluster_without_partner_stays_alone():
    found = compare_maps([[0, 0, 1, 1, 1]], [[7, 7, 8, 8, 9]])
    assert found.entries == (Entry(0, 7), Entry(1, 8), Entry(None, 9))
    assert (found.unchanged, found.changed) == (4, 1)
    assert compare_maps([[0, 1]], [[3, 4]], match={0: 4}).entries == (
        Entry(0, 4),
        Entry(1, None),
        Entry(None, 3),
    )


def test_unlike_the_fit_in_both_is_neither_changed_nor_unchanged():
    found = compare_maps([[0, 0, 2, 2]], [[0, 2, 2, 1]], match="numbers", unlike=(2, 2))
    assert (found.compared, found.unchanged, found.changed, found.undecided) == (4, 1, 2, 1)
    alone = compare_maps([[0, 0, 2, 2]], [[5, 2, 2, 5]], unlike=(2, 2))
    assert alone.matching == {0: 5}  # what is unlike two fits is no cluster
    assert alone.undecided == 1


def test_more_kinds_of_change_than_a_byte_holds():
    before = np.repeat(np.arange(20), 20).reshape(1, -1)
    after = np.tile(np.arange(20), 20).reshape(1, -1)
    found = compare_maps(before, after, match="numbers")
    assert len(found.changes) == 380
    assert found.codes.dtype == np.uint16
    assert sorted(set(found.codes.ravel().tolist())) == [1, *range(2, 382)]


@pytest.mark.parametrize(
    ("before", "after", "options", "words"),
    [
        ([[0, 1]], [[0], [1]], {}, "the shapes (1, 2) and (2, 1)"),
        ([[-1, -1]], [[0, 1]], {}, "the first map has no pixel with a cluster"),
        ([[0, -1]], [[-1, 0]], {}, "no pixel has a cluster in both maps"),
        ([[0, 1]], [[5, 6]], {"match": "numbers"}, "no number in common: the first one has 0, 1"),
        (
            [[0, 2]],
            [[0, 2]],
            {"match": "numbers", "unlike": (2, None)},
            "2 is a cluster in the second map and marks pixels that are unlike the fit in the",
        ),
        ([[0, 1]], [[0.5, 1]], {}, "found 0.5 in the second map"),
        ([0, 1], [0, 1], {}, "a map needs (rows, cols)"),
        ([list(range(5000))], [[0] * 5000], {}, "more than 4,096 different values"),
    ],
)
def test_what_cannot_be_compared_is_said(before, after, options, words):
    with pytest.raises(DataError) as error:
        compare_maps(before, after, **options)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("match", "words"),
    [
        ("size", "match='size' is neither"),
        ({0: 1, 1: 1}, "one cluster to two"),
        ({7: 1}, "cluster 7, which the first map does not have"),
    ],
)
def test_what_is_no_matching_is_said(match, words):
    with pytest.raises(ParameterError, match=words):
        compare_maps([[0, 1]], [[0, 1]], match=match)


def test_spectra_match_where_overlap_is_misled():
    scene, cube, before, after = two_dates(0.8)
    numbers = np.array([0, 3, 1, 4, 2])  # class to cluster, at the second date
    later = numbers[after]
    means = [
        np.array([each.mean for each in cluster_spectra(data, labels - 1)])
        for data, labels in ((scene, before), (type(scene)(cube), later))
    ]
    found = {one + 1: other + 1 for one, other, _ in match_spectra(*means)}
    assert found == {1: 3, 2: 1, 3: 4, 4: 2}
    assert compare_maps(before, later, no_label=0).matching != found
    by_spectra = compare_maps(before, later, match=found, no_label=0)
    assert by_spectra.changed == (before != after).sum()


def test_a_cluster_unlike_all_others_takes_no_partner():
    before = np.eye(4)[:3]
    after = np.vstack([before[[2, 0]] + 0.05, np.eye(4)[3:], [[np.nan] * 4]])
    found = [(one, other) for one, other, _ in match_spectra(before, after)]
    assert found == [(0, 1), (2, 0)]
    assert [pair[:2] for pair in match_spectra(before[:1], before[1:2])] == [(0, 0)]


def test_bands_in_common():
    before = np.array([400.0, 500, 600, 700])
    assert common_bands(before, before[:2]) is None
    one, other = common_bands(before, np.array([690.0, 590, 490, 2000]))
    assert (one.tolist(), other.tolist()) == ([3, 2, 1], [0, 1, 2])


def place(transform=UTM, shape=(40, 50), crs="EPSG:32633"):
    return Place(shape, crs, transform)


def test_maps_that_are_shifted_by_whole_pixels_overlap():
    lower = (30.0, 0.0, 500060.0, 0.0, -30.0, 4499910.0)
    one, other = common_window(place(), place(lower))
    assert one == (slice(3, 40), slice(2, 50))
    assert other == (slice(0, 37), slice(0, 48))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (place(crs="EPSG:32632"), "WGS 84 / UTM zone 33N and the second one in WGS 84 / UTM"),
        (place((20.0, 0.0, 500000.0, 0.0, -20.0, 4500000.0)), "pixels of 30 x 30 and 20 x 20"),
        (place((30.0, 0.0, 500010.0, 0.0, -30.0, 4500000.0)), "0.33 of a pixel across"),
        (place((30.0, 0.0, 900000.0, 0.0, -30.0, 4500000.0)), "do not overlap"),
        (place((24.0, 18.0, 500000.0, 18.0, -24.0, 4500000.0)), "turned against each other"),
        (place(None, (41, 50)), "40 x 50 and 41 x 50 pixels"),
    ],
)
def test_grids_that_differ_are_refused(other, words):
    with pytest.raises(DataError) as error:
        common_window(place(), other)
    assert words in str(error.value)


def test_a_map_is_read_with_its_legend(here):
    labels = np.array([[0, 1, 2, -1]])
    legend = Legend(("maize", "cluster 2", "soil"), np.array([[1, 2, 3]] * 3, np.uint8))
    write_map("map.tif", ClusterMap(labels, 3, "EPSG:32633", UTM, legend=legend))
    found = read_label_map("map.tif")
    assert found.codes.tolist() == [[1, 2, 3, 0]]
    assert found.names == {1: "maize", 3: "soil"}
    assert found.colors[1] == (1, 2, 3)
    assert found.transform == UTM
    assert not holds_scene("map.tif")


def test_a_map_of_another_program_may_have_class_0(here):
    with rasterio.open(
        "cover.tif",
        "w",
        driver="GTiff",
        height=1,
        width=3,
        count=1,
        dtype="uint8",
        nodata=255,
        transform=rasterio.Affine(*UTM),
    ) as raster:
        raster.write(np.array([[[0, 7, 255]]], np.uint8))
    found = read_label_map("cover.tif")
    assert (found.no_data, found.is_own) == (255, False)
    compared = compare_label_maps(found, found, "numbers")
    assert compared.comparison.codes.tolist() == [[1, 1, 0]]
    assert compared.names == ("class 0", "class 7")


def test_real_numbers_are_no_map(here):
    np.save("confidence.npy", np.array([[0.5, 1.0], [1.0, 1.0]]))
    with pytest.raises(FileError, match=r"holds real numbers, such as 0\.5"):
        read_label_map("confidence.npy")


FIT = {"outputs": {"model.npz": "m", "tree.npz": "t"}, "pixels_sha256": "p", "parameters": {}}


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        ({"command": "predict", "model": {"sha256": "m"}}, True),
        ({"command": "predict", "model": {"sha256": "n"}}, False),
        ({"cut_from": {"sha256": "t"}}, True),
        ({**FIT, "outputs": {"tree.npz": "u"}, "parameters": {"n_clusters": 4}}, True),
        ({**FIT, "outputs": {"tree.npz": "u"}, "parameters": {"detail": 1}}, False),
        ({"cut_from": {"sha256": "t"}, "steps": [{"merge": [1, 2]}]}, False),
        ({}, False),
    ],
)
def test_a_legend_is_shared_where_model_or_tree_are(other, shared):
    assert bool(shared_legend(FIT, other)) is shared
    assert bool(shared_legend(other, FIT)) is shared


NAMED = [
    {"op": "name", "cluster": 0, "name": "maize"},
    {"op": "color", "cluster": 1, "color": "#102030"},
    {"op": "hide", "cluster": 1, "hidden": True},
]
MERGE = {"op": "merge", "clusters": [1, 2]}
POLYGON = {"op": "polygon", "name": "maize", "points": [[0, 0], [0, 5], [5, 5]]}


@pytest.mark.parametrize(
    ("steps", "others", "shared"),
    [
        (NAMED, [], True),
        ([*NAMED, MERGE], [MERGE], True),
        ([*NAMED, MERGE], [], False),
        ([*NAMED, POLYGON], [POLYGON], False),  # the polygon goes to the cluster of this name
    ],
)
def test_names_and_colours_change_no_number(steps, others, shared):
    one, other = FIT | {"steps": steps}, FIT | {"steps": others}
    assert bool(shared_legend(one, other)) is shared
    assert bool(shared_legend(other, one)) is shared
    if not others:
        assert bool(shared_legend(one, FIT)) is shared


RUN = {
    "method": "SRDL",
    "pixels_sha256": "p",
    "parameters": {"random_state": None},
    "spectrawalk": "1",
    "times": {"started": "2024-05-01T10:00:00+00:00"},
}


def test_a_model_that_was_written_again_is_still_of_its_run():
    predicted = {"command": "predict", "model": {"sha256": "old", "fit": dict(RUN)}}
    again = RUN | {"outputs": {"model.npz": "new"}, "steps": NAMED}
    assert shared_legend(again, predicted) == "both are labelled with one model"
    later = again | {"times": {"started": "2024-05-01T11:00:00+00:00"}}
    assert not shared_legend(later, predicted)


FITTED, OTHER_FIT = RUN | {"pixels_sha256": "a"}, RUN | {"pixels_sha256": "b"}


@pytest.mark.parametrize(
    ("records", "told", "not_told"),
    [
        ((FITTED, OTHER_FIT), "were clustered separately", "both are"),
        ((FITTED, FITTED), "both are labelled with one model", "separately"),
        ((FITTED, FITTED | {"steps": [MERGE]}), "edited by hand", "separately"),
        ((FITTED, {"command": "predict", "model": {"sha256": "x"}}), "do not show", "separately"),
    ],
)
def test_what_is_said_of_the_clustering_comes_from_the_records(records, told, not_told):
    maps = [
        LabelMap(np.array([[1, 1, 2]], np.uint8), 0, "map", record=each, is_own=True)
        for each in records
    ]
    remarks = " ".join(compare_label_maps(*maps, "overlap").remarks)
    assert told in remarks
    assert not_told not in remarks


def test_unlike_the_fit_is_no_cluster_without_a_partner():
    one = with_spectra([[1, 1, 2, 2]], {1: [1.0, 0, 0], 2: [0, 1.0, 0]}, "may")
    other = replace(one, codes=np.array([[1, 1, 2, 3]], np.uint8), unlike=3)
    found = compare_label_maps(one, other, "spectra")
    assert not any("no partner" in each for each in found.remarks)


def test_nothing_is_said_of_the_clustering_of_other_maps():
    cover = LabelMap(np.array([[1, 1, 2]], np.uint8), 0, "cover")
    assert compare_label_maps(cover, cover, "overlap").remarks == []


def page_of(names):
    """Page of two maps with long or short names; one cluster of each has no partner."""
    one = with_spectra([[1, 1, 2, 2]], {1: [1.0, 0, 0], 2: [0, 1.0, 0]}, "may")
    other = with_spectra([[2, 3, 3, 1]], {1: [0, 1, 0.1], 2: [1.0, 0, 0], 3: [0, 0, 1]}, "june")
    found = compare_label_maps(replace(one, names=names), other)
    return comparison_html(found, comparison_record(found)).decode()


def test_columns_of_the_matrix_have_numbers_where_names_are_long():
    names = {1: "maize " * 16, 2: "a stubble field " * 6}
    matrix = page_of(names).partition('class="matrix"')[2].partition("</thead>")[0]
    assert [each.rpartition(">")[2] for each in matrix.split("</th>")[1:-2]] == ["1", "2", "3 of B"]
    short = page_of({1: "maize"}).partition('class="matrix"')[2].partition("</thead>")[0]
    assert ">maize</th>" in short


def test_the_page_has_commands_as_code_and_says_what_is_coloured():
    page = page_of({})
    text = page.partition("<body>")[2].partition("<pre>")[0]
    assert "`" not in text
    assert "<code>match=overlap</code>" in text
    assert "hanges are blue, unchanged pixels grey" in text


def test_scenes_of_one_run_share_a_legend():
    may, june = ({"tiles": {"scenes": ["may", "june"]}, "parameters": {}} for _ in range(2))
    assert shared_legend(may, june) == "both are scenes of one run"
    assert not shared_legend(may, {"tiles": {"scenes": ["may"]}, "parameters": {}})


def with_spectra(codes, means, title):
    names = tuple(f"cluster {n}" for n in sorted(means))
    known = StoredSpectra(
        np.array([means[n] for n in sorted(means)]), np.arange(3), None, None, names
    )
    return LabelMap(np.array(codes, np.uint8), 0, title, spectra=known, is_own=True)


def test_colours_and_names_come_from_the_first_map():
    one = with_spectra([[1, 1, 2, 2]], {1: [1.0, 0, 0], 2: [0, 1.0, 0]}, "may")
    other = with_spectra([[2, 3, 3, 1]], {1: [0, 1, 0.1], 2: [1.0, 0, 0], 3: [0, 0, 1]}, "june")
    found = compare_label_maps(one, other)
    assert found.rule == "spectra"
    assert found.names == ("cluster 1", "cluster 2", "cluster 3 of B")
    assert len(np.unique(found.colors, axis=0)) == 3
    assert set(found.change_names[1:]) == {
        "cluster 1 → cluster 3 of B",
        "cluster 2 → cluster 3 of B",
    }
    assert len(np.unique(found.change_colors, axis=0)) == 3  # one is darker
    assert found.angles[1] == 0
    assert found.matched_map.counts.tolist() == [1, 1, 2]
    table = [line.split(",") for line in changes_csv(found).decode().splitlines()]
    assert table[0][1:4] == [f"to {name} (pixels)" for name in found.names]
    assert table[1] == ["cluster 1", "1", "0", "1", "0", "2"]
    assert table[-1] == ["total", "1", "1", "2", "0", "4"]
    strange = with_spectra([[1, 1, 2, 2]], {1: [1.0, 1.0, 1.2], 2: [1.0, 1.0, 1.3]}, "july")
    with pytest.raises(DataError, match="no cluster of the second map is like one of the first"):
        compare_label_maps(one, strange)
