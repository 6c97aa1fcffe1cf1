"""How reliable names from a spectral library are: ``python benchmarks/names.py LIBRARY [SCENE]``.

Spectra of the library are drawn, resampled to the bands of a scene (those of EnMAP without one),
and given noise of 1 %. Then their names are searched: in the whole library, and in the library
without their own entry. The first word of a name is taken for the material. The right answer to the
second question is "no good match", or another spectrum of the same material. Prints Markdown.

Three distances are compared: the spectral angle, the difference after continuum removal, and their
sum. ``NOISE_FACTOR`` of results/identification.py was chosen by the last table, on other draws
(seeds 100 to 109) than the first one (0 to 9).
"""

import sys
from unittest.mock import patch

import numpy as np

from spectrawalk import identify_spectra, read_scene
from spectrawalk.io import read_library
from spectrawalk.results import identification
from spectrawalk.results.identification import SpectralLibrary, remove_continuum

DRAWN, NOISE = 200, 0.01
FACTORS = 1.05, 1.1, 1.15, 1.2


def enmap_bands() -> tuple[np.ndarray, np.ndarray]:
    """About the bands of EnMAP: 418 to 2445 nm, without those of water vapour."""
    visible, infrared = np.arange(418.0, 993, 6.5), np.arange(1004.0, 2446, 10.0)
    wavelengths = np.concatenate([visible, infrared])
    widths = np.where(wavelengths < 1000, 7.5, 9.5)
    dry = ~(
        (wavelengths > 1340) & (wavelengths < 1450) | (wavelengths > 1800) & (wavelengths < 1950)
    )
    return wavelengths[dry], widths[dry]


def material(name: str) -> str:
    return name.split()[0]


def draws(library: SpectralLibrary, on_bands: np.ndarray, seed: int):
    """Give the number of each drawn spectrum, and the spectrum with noise."""
    rng = np.random.default_rng(seed)
    for each in rng.choice(len(library.names), DRAWN, replace=False).tolist():
        spectrum = on_bands[each]
        yield each, spectrum * (1 + NOISE * rng.standard_normal(len(spectrum)))


def without(library: SpectralLibrary, entry: int) -> SpectralLibrary:
    kept = np.arange(len(library.names)) != entry
    names = tuple(np.array(library.names, dtype=object)[kept])
    return SpectralLibrary(library.name, names, library.spectra[kept])


def answers(library, on_bands, wavelengths, fwhm, seed) -> np.ndarray:
    """For each draw: first right, accepted, and with the entry removed refused or right."""
    resampled = SpectralLibrary(library.name, library.names, on_bands)
    rows = []
    for entry, spectrum in draws(library, on_bands, seed):
        own = material(library.names[entry])
        (found,) = identify_spectra([spectrum], resampled, n_best=1)
        (other,) = identify_spectra([spectrum], without(resampled, entry), n_best=1)
        right = material(found.matches[0].name) == own
        safe = not other.is_good or material(other.matches[0].name) == own
        rows.append((right, found.is_good, safe))
    return np.mean(rows, axis=0)


def distances_compared(library, on_bands, wavelengths, seed) -> np.ndarray:
    """Share of draws whose nearest spectrum is of the right material, by three distances."""
    order = np.argsort(wavelengths)
    features = np.full(on_bands.shape, np.nan)
    known = np.isfinite(on_bands[:, order])
    for each, (row, have) in enumerate(zip(on_bands[:, order], known, strict=True)):
        features[each, have] = remove_continuum(row[have], wavelengths[order][have])
    rows = []
    for entry, spectrum in draws(library, on_bands, seed):
        drawn, have = spectrum[order], known[entry]
        own = np.full(len(order), np.nan)
        own[have] = remove_continuum(drawn[have], wavelengths[order][have])
        both = known & have
        enough = both.sum(axis=1) >= identification.COVERED * both.sum(axis=1).max()
        filled, mine = np.where(both, on_bands[:, order], 0), np.where(have, drawn, 0)
        length = np.sqrt(np.square(filled).sum(axis=1) * (both @ np.square(mine)))
        angle = np.arccos(np.clip(filled @ mine / np.maximum(length, 1e-30), -1, 1))
        squares = np.where(both, np.square(np.nan_to_num(features - own)), 0)
        shape = np.sqrt(squares.sum(axis=1) / np.maximum(both.sum(axis=1), 1))
        nearest = [
            np.where(enough, distance, np.inf).argmin()
            for distance in (angle, shape, angle + shape)
        ]
        own_material = material(library.names[entry])
        rows.append([material(library.names[each]) == own_material for each in nearest])
    return np.mean(rows, axis=0)


def main() -> None:
    (library,) = read_library(sys.argv[1])
    wavelengths, fwhm = enmap_bands()
    if len(sys.argv) > 2:
        scene = read_scene(sys.argv[2])
        wavelengths, fwhm = scene.wavelengths, scene.fwhm
    bands = identification.Bands(np.arange(1, len(wavelengths) + 1), wavelengths, fwhm)
    on_bands = library.on_bands(bands)
    print(f"{len(library.names):,} spectra, {len(wavelengths)} bands, noise {NOISE:.0%}\n")
    print("| seed | right material first | good match | without its entry: refused, or right |")
    print("|---|---|---|---|")
    found = [answers(library, on_bands, wavelengths, fwhm, seed) for seed in range(10)]
    for seed, row in enumerate(found):
        print(f"| {seed} | {row[0]:.3f} | {row[1]:.3f} | {row[2]:.3f} |")
    mean = np.mean(found, axis=0)
    print(f"| mean | {mean[0]:.3f} | {mean[1]:.3f} | {mean[2]:.3f} |\n")
    print("| distance | right material first |\n|---|---|")
    by_distance = np.mean(
        [distances_compared(library, on_bands, wavelengths, seed) for seed in range(3)], axis=0
    )
    for name, share in zip(("angle", "continuum removed", "sum"), by_distance, strict=True):
        print(f"| {name} | {share:.3f} |")
    print("\n| noise factor | good match | without its entry: refused, or right |\n|---|---|---|")
    for factor in FACTORS:
        with patch.object(identification, "NOISE_FACTOR", factor):
            rows = [answers(library, on_bands, wavelengths, fwhm, 100 + s) for s in range(10)]
        mean = np.mean(rows, axis=0)
        print(f"| {factor} | {mean[1]:.3f} | {mean[2]:.3f} |")


if __name__ == "__main__":
    main()
