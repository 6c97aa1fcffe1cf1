"""Check that a wheel holds every file of the package: ``python .ci/wheel_is_whole.py WHEEL``."""

import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"


def main(wheel: Path) -> None:
    """Compare the names in the wheel with the files of src/."""
    files = (path for path in SOURCE.rglob("*") if path.is_file())
    wanted = {
        path.relative_to(SOURCE).as_posix() for path in files if "__pycache__" not in path.parts
    }
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    if wanted != held:
        missing, extra = sorted(wanted - held), sorted(held - wanted)
        raise SystemExit(f"{wheel.name}: missing {missing}, not in src/ {extra}")
    data = sorted(name for name in held if not name.endswith(".py"))
    print(f"{wheel.name}: {len(held)} files, among them {', '.join(data)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
