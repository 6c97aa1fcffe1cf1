"""Readers of spectral libraries: ENVI, USGS and ECOSTRESS text, tables, endmembers."""

import contextlib

import numpy as np
import pytest

from spectrawalk.errors import FileError
from spectrawalk.io import read_library

WAVELENGTHS = np.linspace(0.4, 2.4, 60)  # micrometres
VALUES = 0.3 + 0.1 * np.sin(WAVELENGTHS * 3)


def write_ecostress(path, name="Quartz SiO2", unit="Wavelength (micrometers)", values=VALUES):
    """Write a spectrum in the layout that ECOSTRESS publishes: a head, and falling wavelengths."""
    head = [
        f"Name: {name}", "Type: mineral", "Class: silicate", "Subclass: tectosilicate",
        "Particle Size: fine", "Sample No.: 7", "Owner: a laboratory",
        "Origin: somewhere", "Description: see ancillary file.", "Measurement: Directional (10 "
        "degree) hemispherical reflectance", "First Column: X", "Second Column: Y",
        f"X Units: {unit}", "Y Units: Reflectance (percent)", "First X Value: 2.4",
        "Last X Value: 0.4", f"Number of X Values: {len(values)}", "Additional Information: none",
        "",
    ]  # fmt: skip
    rows = [f"{x:.4f}\t{100 * y:.4f}" for x, y in zip(WAVELENGTHS[::-1], values[::-1], strict=True)]
    path.write_text("\n".join(head + rows) + "\n", encoding="latin-1")
    return path


def write_usgs(folder, name="splib07a_Alunite_GDS84_BECKb_AREF.txt", title=None, values=VALUES):
    """Write a spectrum in the layout of splib07: one column, the wavelengths in another file."""
    chapter = folder / "ChapterM_Minerals"
    chapter.mkdir(exist_ok=True)
    waves = [" splib07a Record=1: Wavelengths BECK 0.4-2.4 microns"]
    waves += [f" {x:.6e}" for x in WAVELENGTHS]
    (folder / "splib07a_Wavelengths_BECK_Beckman_0.2-3.0_microns.txt").write_text("\n".join(waves))
    title = title or " splib07a Record=92: Alunite GDS84 Na03            BECKb AREF"
    path = chapter / name
    path.write_text("\n".join([title, *(f" {x:.6e}" for x in values)]))
    return path


def write_sli(folder, names=("leaf", "soil"), header="", values=None):
    values = np.array([VALUES, VALUES[::-1]]) if values is None else values
    fields = [
        "ENVI", f"samples = {values.shape[1]}", f"lines = {len(values)}", "bands = 1",
        "header offset = 0", "file type = ENVI Spectral Library", "data type = 4",
        "interleave = bsq", "byte order = 0", f"spectra names = {{{', '.join(names)}}}",
        header or "wavelength units = Micrometers\nwavelength = {"
        + ", ".join(f"{x:.5f}" for x in WAVELENGTHS) + "}",
    ]  # fmt: skip
    (folder / "field.hdr").write_text("\n".join(fields) + "\n")
    values.astype("<f4").tofile(folder / "field.sli")
    return folder / "field.sli"


def only(path):
    (library,) = read_library(path)
    return library


class TestEnvi:
    @pytest.mark.parametrize("suffix", [".sli", ".hdr"])
    def test_both_files_name_it(self, tmp_path, suffix):
        library = only(write_sli(tmp_path).with_suffix(suffix))
        assert library.names == ("leaf", "soil")
        np.testing.assert_allclose(library.wavelengths, WAVELENGTHS * 1000, atol=0.01)
        np.testing.assert_allclose(library.spectra[0], VALUES, rtol=1e-6)
        assert library.remarks == ()

    def test_values_without_a_zero_byte(self, tmp_path):
        """A small library need not look like a binary file."""
        library = only(write_sli(tmp_path, values=np.full((2, 60), np.float32(0.3))))
        assert library.names == ("leaf", "soil")

    def test_what_is_no_spectrum_is_left_out(self, tmp_path):
        values = np.array([WAVELENGTHS, VALUES, VALUES / 100, VALUES * 0 - 1.23e34])
        names = ("Wavelengths in microns", "Alunite GDS84   BECKb AREF", "error bars to preceding",
                 "deleted")  # fmt: skip
        library = only(write_sli(tmp_path, names, values=values))
        assert library.names == ("Alunite GDS84",)

    def test_no_unit_is_guessed_and_reported(self, tmp_path):
        header = "wavelength = {" + ", ".join(f"{x:.5f}" for x in WAVELENGTHS) + "}"
        library = only(write_sli(tmp_path, header=header))
        np.testing.assert_allclose(library.wavelengths, WAVELENGTHS * 1000, atol=0.01)
        assert (
            "names no unit of its wavelengths; they were taken as 400 to 2400 nm"
            in (library.remarks[0])
        )

    def test_names_that_are_too_few_are_replaced_by_numbers(self, tmp_path):
        library = only(write_sli(tmp_path, names=("leaf",)))
        assert library.names == ("spectrum 1", "spectrum 2")
        assert "1 names for 2 spectra" in library.remarks[0]

    def test_a_cut_file(self, tmp_path):
        path = write_sli(tmp_path)
        path.write_bytes(path.read_bytes()[:-8])
        with pytest.raises(FileError, match="has 472 bytes but its header"):
            read_library(path)

    def test_an_image_is_no_library(self, tmp_path):
        path = write_sli(tmp_path)
        header = tmp_path / "field.hdr"
        header.write_text(header.read_text().replace("Spectral Library", "Standard"))
        with pytest.raises(FileError, match="is no spectral library"):
            read_library(path)

    def test_no_header(self, tmp_path):
        path = write_sli(tmp_path)
        (tmp_path / "field.hdr").unlink()
        with pytest.raises(FileError, match="without an ENVI header"):
            read_library(path)

    @pytest.mark.scene
    def test_the_usgs_library(self, usgs_library):
        library = only(usgs_library)
        # 3,139 records without the wavelengths, the resolution and 680 error bars.
        assert len(library.names) == 2457
        assert library.names[0] == "Acmite NMNH133746 Pyroxene"
        assert np.nanmin(library.spectra) > -1


class TestText:
    def test_ecostress(self, tmp_path):
        library = only(write_ecostress(tmp_path / "mineral.silicate.spectrum.txt"))
        assert library.names == ("Quartz SiO2",)
        order = np.argsort(library.wavelengths)
        np.testing.assert_allclose(library.wavelengths[order], WAVELENGTHS * 1000, atol=0.1)
        np.testing.assert_allclose(library.spectra[0, order], VALUES * 100, atol=1e-3)

    def test_a_description_over_several_lines(self, tmp_path):
        path = write_ecostress(tmp_path / "quartz.txt")
        text = path.read_text().replace("see ancillary file.", "clear grains\nof 75 um and more.")
        path.write_text(text)
        assert only(path).spectra.shape == (1, 60)

    def test_usgs(self, tmp_path):
        library = only(write_usgs(tmp_path))
        assert library.names == ("Alunite GDS84 Na03",)
        np.testing.assert_allclose(library.wavelengths, WAVELENGTHS * 1000, atol=0.01)

    def test_usgs_without_its_wavelengths(self, tmp_path):
        path = write_usgs(tmp_path)
        next(tmp_path.glob("*Wavelengths*")).unlink()
        with pytest.raises(FileError, match=r"60 values and no wavelengths.*splib07a_Wavelengths"):
            read_library(path)

    def test_the_wavelengths_of_usgs_are_no_spectrum(self, tmp_path):
        write_usgs(tmp_path)
        with pytest.raises(FileError, match="no spectrum but Wavelengths BECK"):
            read_library(next(tmp_path.glob("*Wavelengths*")))

    def test_text_in_the_numbers(self, tmp_path):
        path = write_ecostress(tmp_path / "quartz.txt")
        path.write_text(path.read_text().replace("\n2.4000\t", "\n2.4000\tabout "))
        with pytest.raises(FileError, match=r"line 20: '2.4000\tabout.*' is no pair"):
            read_library(path)
        usgs = write_usgs(tmp_path)
        usgs.write_text(usgs.read_text() + "\n none")
        with pytest.raises(FileError, match="line 62: 'none' is no number"):
            read_library(usgs)

    def test_a_folder(self, tmp_path):
        write_usgs(tmp_path)
        write_ecostress(tmp_path / "quartz.spectrum.txt")
        (tmp_path / "readme.txt").write_text("What these files are.\n")
        names = [name for library in read_library(tmp_path) for name in library.names]
        assert sorted(names) == ["Alunite GDS84 Na03", "Quartz SiO2"]

    def test_the_folder_of_a_run_counts_each_spectrum_once(self, tmp_path):
        write_sli(tmp_path)
        (tmp_path / "field.csv").write_text("wavelength (nm),leaf\n450,1\n550,2\n650,3\n")
        assert [library.name for library in read_library(tmp_path)] == ["field.sli"]

    def test_a_picture(self, tmp_path):
        (tmp_path / "map.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
        with pytest.raises(FileError, match="is no spectral library; give an ENVI library"):
            read_library(tmp_path / "map.png")

    def test_an_empty_folder(self, tmp_path):
        with pytest.raises(FileError, match="holds no spectral library"):
            read_library(tmp_path)


class TestTables:
    def test_a_column_for_each_material(self, tmp_path):
        path = tmp_path / "field.csv"
        rows = [f"{x * 1000:.1f},{y:.5f},," for x, y in zip(WAVELENGTHS, VALUES, strict=True)]
        path.write_text("Wavelength (nm),dry grass,empty,also empty\n" + "\n".join(rows))
        library = only(path)
        assert library.names == ("dry grass",)
        np.testing.assert_allclose(library.wavelengths, WAVELENGTHS * 1000, atol=0.1)

    def test_a_line_for_each_material(self, tmp_path):
        path = tmp_path / "field.csv"
        lines = ["wavelength in um;" + ";".join(f"{x:.3f}" for x in WAVELENGTHS)]
        lines += [f"{name};" + ";".join(f"{y:.5f}" for y in VALUES) for name in ("a", "b")]
        path.write_text("\n".join(lines))
        library = only(path)
        assert library.names == ("a", "b")
        np.testing.assert_allclose(library.wavelengths, WAVELENGTHS * 1000, atol=0.6)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("band,leaf\n1,0.2\n2,0.3\n", "has no column of wavelengths.*band, leaf"),
            ("wavelength (nm),leaf\n450,0.2\n550,green\n", "line 3: 'green' is no number"),
            ("wavelength (nm),leaf\n450,0.2\n550\n", "line 3, has 1 columns"),
            ("wavelength (nm),leaf\n-450,0.2\n550,0.3\n", "no wavelengths where they are expected"),
            ("just words\n", "is no spectral library"),
            ("", "is empty"),
        ],
    )
    def test_refusals(self, tmp_path, text, told):
        path = tmp_path / "field.csv"
        path.write_text(text)
        with pytest.raises(FileError, match=told):
            read_library(path)

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(FileError, match="does not exist"):
            read_library(tmp_path / "none.sli")


class TestEndmembers:
    @pytest.mark.scene
    def test_published_endmembers(self, samson_endmembers):
        library = only(samson_endmembers)
        assert library.names == ("1-rock", "2-Tree", "3-water")
        assert library.spectra.shape == (3, 156)

    def test_another_matlab_file(self, tmp_path):
        from scipy.io import savemat

        savemat(tmp_path / "cube.mat", {"V": np.ones((3, 4, 5))})
        with pytest.raises(FileError, match="holds no endmembers"):
            read_library(tmp_path / "cube.mat")


def test_any_bytes_are_read_or_refused(tmp_path):
    """A damaged library gives a library or one of our errors."""
    from spectrawalk.errors import SpectrawalkError

    rng = np.random.default_rng(0)
    for make in (
        lambda folder: write_sli(folder).with_suffix(".hdr"),
        lambda folder: write_ecostress(folder / "q.txt"),
        write_usgs,
    ):
        for number in range(60):
            folder = tmp_path / f"{number}-{rng.integers(1 << 30)}"
            folder.mkdir()
            path = make(folder)
            content = bytearray(path.read_bytes())
            for _ in range(rng.integers(1, 6)):
                content[rng.integers(len(content))] = rng.integers(256)
            path.write_bytes(content[: rng.integers(1, len(content) + 1)])
            with contextlib.suppress(SpectrawalkError):
                assert read_library(path)[0].names
