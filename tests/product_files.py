"""Small files in the layout of each format, written by other libraries than the package's readers.

EMIT, PRISMA and EnMAP follow the published descriptions of their products.
"""

from pathlib import Path

import h5py
import numpy as np
import rasterio
import scipy.io
import spectral.io.envi as spy
import zarr

ROWS, COLS, BANDS = 7, 5, 6
CUBE = np.random.default_rng(0).integers(1, 4000, size=(ROWS, COLS, BANDS)).astype(np.uint16)
WAVELENGTHS = np.array([450.5, 550.0, 650.25, 850.0, 1650.0, 2200.0])
FWHM = np.array([5.0, 5.5, 6.0, 6.5, 7.0, 7.5])
TRANSFORM = (30.0, 0.0, 500_000.0, 0.0, -30.0, 4_000_000.0)
EPSG = 32633
UTM = rasterio.CRS.from_epsg(EPSG)


def same_crs(wkt, expected=UTM) -> bool:
    return rasterio.CRS.from_wkt(wkt) == expected


def write_envi(path: Path, cube=CUBE, interleave="bip", byte_order=0, **fields) -> Path:
    """Write with SPy; gives the header's path."""
    header = path.with_suffix(".hdr")
    names = {key.replace("_", " "): value for key, value in fields.items()}
    spy.save_image(
        str(header), cube, dtype=cube.dtype, interleave=interleave, byteorder=byte_order,
        ext=path.suffix, force=True, metadata=names,
    )  # fmt: skip
    return header


def write_geotiff(path: Path, cube=CUBE, *, georeferenced=True, **options) -> Path:
    rows, cols, bands = cube.shape
    if georeferenced:
        options = {"crs": EPSG, "transform": rasterio.Affine(*TRANSFORM)} | options
    with rasterio.open(
        path, "w", driver="GTiff", height=rows, width=cols, count=bands, dtype=cube.dtype, **options
    ) as target:
        target.write(np.moveaxis(cube, -1, 0))
    return path


def write_v73(path: Path, **arrays: np.ndarray) -> Path:
    """Write arrays as MATLAB does: 512 bytes of text first, axes reversed, class as attribute."""
    classes = {"float64": "double", "float32": "single"}
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            dataset = file.create_dataset(name, data=array.T, compression="gzip")
            kind = classes.get(array.dtype.name, array.dtype.name)
            dataset.attrs["MATLAB_class"] = np.bytes_(kind)
        file.create_group("#refs#")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    return path


def write_v5(path: Path, **arrays: np.ndarray) -> Path:
    scipy.io.savemat(path, arrays, do_compression=True)
    return path


def write_zarr(path: Path, cube=CUBE, *, zarr_format=3, **attributes) -> Path:
    array = zarr.create_array(
        path, shape=cube.shape, chunks=(4, 5, 3), dtype=cube.dtype, zarr_format=zarr_format
    )
    array[:] = cube
    array.attrs.update(attributes)
    return path


def write_emit(path: Path, cube=None, glt_fill=0, **attributes) -> Path:
    """Write an L2A reflectance granule: swath geometry, with a lookup table to the map."""
    cube = CUBE.astype(np.float32) / 4000 if cube is None else cube
    rows, cols, bands = cube.shape
    with h5py.File(path, "w") as file:
        reflectance = file.create_dataset("reflectance", data=cube, compression="gzip")
        reflectance.attrs["_FillValue"] = np.array([-9999.0], dtype=np.float32)
        group = file.create_group("sensor_band_parameters")
        group["wavelengths"] = WAVELENGTHS[:bands].astype(np.float32)
        group["fwhm"] = FWHM[:bands].astype(np.float32)
        group["good_wavelengths"] = np.array([1, 1, 0, 1, 1, 1], dtype=np.uint8)[:bands]
        # A map of one more row and column than the swath, turned upside down.
        glt_x, glt_y = (np.full((rows + 1, cols + 1), glt_fill, dtype=np.int32) for _ in "xy")
        row, col = np.indices((rows, cols))
        glt_y[1:, 1:], glt_x[1:, 1:] = rows - row, col + 1
        file["location/glt_x"], file["location/glt_y"] = glt_x, glt_y
        file.attrs["geotransform"] = np.array([10.0, 0.0005, 0.0, 45.0, 0.0, -0.0005])
        file.attrs["spatial_ref"] = rasterio.CRS.from_epsg(4326).to_wkt()
        for name, value in attributes.items():
            file.attrs[name] = value
    return path


def prisma_wavelengths() -> tuple[np.ndarray, np.ndarray]:
    """Both detectors, descending as in the product, 0 where a band is not measured."""
    return np.array([977.0, 900.0, 550.0, 0.0]), np.array([2490.0, 1650.0, 1000.0, 943.0, 0.0])


def write_prisma(path: Path, *, centres=False, errors=True, turned=False) -> Path:
    """Write an L2D product: axes (row, band, column), two detectors, scales of their own.

    Turned, the axes are (column, band, row).
    """
    vnir, swir = prisma_wavelengths()
    rng = np.random.default_rng(5)
    fields = "HDFEOS/SWATHS/PRS_L2D_HCO/Data Fields"
    with h5py.File(path, "w") as file:
        for name, wavelengths in (("Vnir", vnir), ("Swir", swir)):
            values = rng.integers(1, 65535, size=(ROWS, len(wavelengths), COLS)).astype(np.uint16)
            values[:, wavelengths == 0] = 0
            values[0, :, 0] = 0  # outside the swath
            file[f"{fields}/{name.upper()}_Cube"] = values.T if turned else values
            if errors:
                codes = np.zeros(values.shape, dtype=np.uint8)
                codes[0, :, 1] = 1  # invalid in all bands
                codes[3, 0, 3] = 1  # invalid in one
                matrix = f"{fields}/{name.upper()}_PIXEL_L2_ERR_MATRIX"
                file[matrix] = codes.T if turned else codes
            file.attrs[f"List_Cw_{name}"] = wavelengths.astype(np.float32)
            file.attrs[f"List_Cw_{name}_Flags"] = (wavelengths > 0).astype(np.int32)
            file.attrs[f"List_Fwhm_{name}"] = np.full(len(wavelengths), 11.0, dtype=np.float32)
        latitude = np.linspace(36.2, 36.1, ROWS)[:, np.newaxis] + np.linspace(0, 1e-4, COLS)
        place = "HDFEOS/SWATHS/PRS_L2D_HCO/Geolocation Fields/Latitude"
        file[place] = latitude.T if turned else latitude
        file.attrs["L2ScaleVnirMin"], file.attrs["L2ScaleVnirMax"] = 0.0, 1.0
        file.attrs["L2ScaleSwirMin"], file.attrs["L2ScaleSwirMax"] = 0.0, 0.5
        file.attrs["Epsg_Code"] = np.uint32(EPSG)
        half = 15.0 if centres else 0.0
        file.attrs["Product_ULcorner_easting"] = 500_000.0 + half
        file.attrs["Product_ULcorner_northing"] = 4_000_000.0 - half
        file.attrs["Product_LRcorner_easting"] = 500_000.0 + 30 * COLS - half
        file.attrs["Product_LRcorner_northing"] = 4_000_000.0 - 30 * ROWS + half
    return path


def write_enmap(folder: Path, wavelengths=WAVELENGTHS) -> Path:
    """Write an L2A product; gives the path of its metadata."""
    folder.mkdir(exist_ok=True)
    stem = "ENMAP01-____L2A-DT0000001867_20220724T104526Z_008_V010302_20230628T165614Z-"
    bands = "".join(
        f'<bandID number="{number}"><wavelengthCenterOfBand>{centre}</wavelengthCenterOfBand>'
        f"<FWHMOfBand>{width}</FWHMOfBand><GainOfBand>0.0001</GainOfBand>"
        f"<OffsetOfBand>0</OffsetOfBand></bandID>"
        for number, (centre, width) in enumerate(zip(wavelengths, FWHM, strict=False), start=1)
    )
    metadata = folder / f"{stem}METADATA.XML"
    metadata.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><level_X><metadata/><specific>'
        f"<bandCharacterisation>{bands}</bandCharacterisation></specific><product>"
        "<productQuality><vnirProductQuality><expectedChannelsList>1,2,4</expectedChannelsList>"
        "</vnirProductQuality><swirProductQuality><expectedChannelsList>5,6"
        "</expectedChannelsList></swirProductQuality></productQuality></product></level_X>"
    )
    cube = CUBE.astype(np.int16)
    cube[0, 0] = -32768
    cube[:, :, 2] = -32768
    write_geotiff(folder / f"{stem}SPECTRAL_IMAGE.TIF", cube, nodata=-32768)
    return metadata
