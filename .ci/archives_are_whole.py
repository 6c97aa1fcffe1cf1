"""Check that the wheel and the sdist in a folder are whole.

``python .ci/archives_are_whole.py FOLDER``: the wheel holds every file of the package, the sdist
every file that git holds, and the README that a package index shows has no relative link.
"""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"


def main(folder: Path) -> None:
    """Check both archives."""
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        check_links(archive.read(metadata).decode())
    check_wheel(wheel.name, {name for name in names if ".dist-info/" not in name})
    check_sdist(sdist)


def check_wheel(wheel: str, held: set[str]) -> None:
    """Compare the names in the wheel with the files of src/."""
    files = (path for path in SOURCE.rglob("*") if path.is_file())
    wanted = {
        path.relative_to(SOURCE).as_posix() for path in files if "__pycache__" not in path.parts
    }
    compare(wheel, wanted, held)
    data = sorted(name for name in held if not name.endswith(".py"))
    print(f"{wheel}: {len(held)} files, among them {', '.join(data)}")


def check_sdist(sdist: Path) -> None:
    """Compare the names in the sdist with what git holds, where there is a git."""
    with tarfile.open(sdist) as archive:
        files = [member.name for member in archive.getmembers() if member.isfile()]
    held = {name.partition("/")[2] for name in files} - {"PKG-INFO"}
    if (ROOT / ".git").exists():
        command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others"]
        command.append("--exclude-standard")
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        compare(sdist.name, {name for name in listed.split("\0") if (ROOT / name).is_file()}, held)
    print(f"{sdist.name}: {len(held)} files")


def check_links(metadata: str) -> None:
    """Refuse relative links in the README that a package index shows."""
    relative = re.findall(r"\]\((?!\w+://|#)([^)]+)\)", metadata)
    if relative:
        raise SystemExit(f"METADATA: relative links to {relative}")


def compare(archive: str, wanted: set[str], held: set[str]) -> None:
    """Refuse an archive with other files than wanted."""
    if wanted != held:
        missing, extra = sorted(wanted - held), sorted(held - wanted)
        raise SystemExit(f"{archive}: missing {missing}, not in the source {extra}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
