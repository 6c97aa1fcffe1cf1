"""The rules of imports: the contracts in pyproject.toml hold, and would not hold if broken."""

import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "spectrawalk"

SLOW_TO_IMPORT = ["dask", "matplotlib", "numba", "numpy", "rasterio", "scipy", "sklearn", "xarray"]
FOR_THE_TERMINAL = ["click", "rich"]
WEB_SERVERS = ["aiohttp", "fastapi", "flask", "http.server", "starlette", "tornado", "uvicorn"]


def lint_imports(folder: Path) -> tuple[int, str]:
    """Check the contracts of a folder that has a pyproject.toml and src/."""
    done = subprocess.run(
        [Path(sysconfig.get_path("scripts")) / "lint-imports", "--no-cache"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def copied(tmp_path):
    """A copy of the source, to be broken."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(
        PACKAGE, tmp_path / "src" / "spectrawalk", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path


def test_the_contracts_hold():
    code, said = lint_imports(ROOT)
    assert code == 0, said
    assert "2 kept, 0 broken" in said


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("scene/scene.py", "from spectrawalk.cli import main", "Imports go down only"),
        ("scene/scene.py", "from spectrawalk import SRDL", "Imports go down only"),
        ("results/scores.py", "import rich.table", "Only the command line uses click and rich"),
        ("helpers/__init__.py", "", "Imports go down only"),  # a part without a layer
    ],
)
def test_a_forbidden_import_breaks_its_contract(copied, file, line, broken):
    path = copied / "src" / "spectrawalk" / file
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    code, said = lint_imports(copied)
    assert code != 0
    assert f"{broken} BROKEN" in said


def test_importing_the_package_imports_nothing_slow():
    unwanted = [*SLOW_TO_IMPORT, *FOR_THE_TERMINAL, *WEB_SERVERS]
    code = (
        "import sys, time; before = set(sys.modules); begin = time.perf_counter()\n"
        "import spectrawalk\n"
        "took = time.perf_counter() - begin\n"
        f"print([name for name in {unwanted} if name in set(sys.modules) - before])\n"
        "print(f'import spectrawalk: {took * 1000:.1f} ms')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found, took = done.stdout.splitlines()
    print(took)  # shown by pytest -rP; a limit would depend on the machine
    assert found == "[]"


def test_the_package_has_few_files_at_its_top():
    assert len([path for path in PACKAGE.iterdir() if path.is_file()]) <= 10


def test_the_picture_of_the_layers_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs" / "layers.py"))["picture"]()
    kept = (ROOT / "docs" / "layers.svg").read_text(encoding="utf-8")
    assert made == kept, "run `python docs/layers.py`"
