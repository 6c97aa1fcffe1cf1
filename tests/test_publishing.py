"""What a package index and a reference manager see."""

import re
import tomllib
from pathlib import Path

import yaml

import spectrawalk

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = SETTINGS["project"]
README = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
REPOSITORY = PROJECT["urls"]["Repository"]


def test_the_readme_of_a_package_index_has_no_relative_link():
    assert README["fragments"] == [{"path": "README.md"}]
    shown = kept = (ROOT / "README.md").read_text("utf-8")
    for each in README["substitutions"]:
        shown = re.sub(each["pattern"], each["replacement"], shown)
    targets = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", shown)
    own = re.findall(r"!?\[[^\]]*\]\(([^)]+)\)", kept)
    assert len(targets) == len(own) > 15
    for (picture, target), relative in zip(targets, own, strict=True):
        kind = "raw" if picture else "blob"
        assert target == f"{REPOSITORY}/{kind}/main/{relative}"
    assert re.sub(rf"{re.escape(REPOSITORY)}/(raw|blob)/main/", "", shown) == kept


def test_the_address_stands_in_one_file():
    names = ["*.md", "*.toml", "*.cff", "src/**/*.py", "tests/*.py", "docs/**/*.md"]
    paths = {path for name in names for path in ROOT.glob(name)}
    assert {path.name for path in paths if REPOSITORY in path.read_text("utf-8")} == {
        "pyproject.toml"
    }
    assert all(address.startswith(REPOSITORY) for address in PROJECT["urls"].values())


def test_the_citation_says_what_the_package_says():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == spectrawalk.__version__ == PROJECT["version"]
    assert cited["title"] == PROJECT["name"]
    assert cited["license"] == PROJECT["license"]
    assert cited["abstract"] == PROJECT["description"]
    assert cited["keywords"] == PROJECT["keywords"]
    assert [author["name"] for author in cited["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]


def test_the_page_on_publishing_names_the_paper():
    [paper] = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["references"]
    page = " ".join((ROOT / "docs" / "publishing.md").read_text("utf-8").replace("> ", "").split())
    assert paper["title"] in page
    assert f"{paper['volume']}({paper['issue']}), {paper['start']}\N{EN DASH}{paper['end']}" in page
    assert str(paper["year"]) in page
    assert paper["identifiers"][0]["value"] in page
    assert all(author["family-names"] in page for author in paper["authors"])
