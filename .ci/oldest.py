"""Print the oldest version that pyproject.toml allows of each dependency, as constraints for pip.

The tools of the tests are left out: a user does not need them.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Turn every ``name>=version`` into ``name==version``."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    ours = ("docs", "test")  # not what users run
    wanted = [line for extra, lines in extras.items() if extra not in ours for line in lines]
    for line in [*project["dependencies"], *wanted]:
        if line.startswith(f"{project['name']}["):
            continue  # an extra of ours that names others
        bound = re.fullmatch(r"([\w.-]+)>=([\w.]+)", line)
        if bound is None:
            raise SystemExit(f"pyproject.toml: '{line}' is not of the form name>=version")
        print(f"{bound[1]}=={bound[2]}")


if __name__ == "__main__":
    main()
