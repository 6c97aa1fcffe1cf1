"""Check the built site: ``python .ci/site_is_whole.py build/site``.

Every link to a page, a part of a page or a file leads somewhere. The pages load nothing from the
network. In Chromium, opened from the disk, they show their pictures, complain about nothing, fit
the screen of a phone, and the search finds something.
"""

import os
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SIZES = {"desktop": (1400, 900), "phone": (390, 844)}
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
"""Elements that a browser loads by itself, and the attribute that says from where."""


class Page(HTMLParser):
    """Links of a page, what it loads, and the parts that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links, self.loads, self.parts = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to."""
        named = dict(attrs)
        if named.get("id"):
            self.parts.add(named["id"])
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        is_hint = tag == "link" and named.get("rel") in ("canonical", "next", "prev")
        if tag in LOADED and named.get(LOADED[tag]) and not is_hint:
            self.loads.append(named[LOADED[tag]])


def faults(folder: Path) -> list[str]:
    """List links that lead nowhere and files that come from the network."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    found = [] if pages else [f"{folder} holds no page"]
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    found.append(f"{name} loads {target}")
                continue
            fragment = unquote(parts.fragment)
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.is_file():
                found.append(f"{name}: {target} does not exist")
            elif parts.fragment and there in pages and fragment not in pages[there].parts:
                found.append(f"{name}: {target} has no such part")
    for style in sorted(folder.rglob("*.css")):
        text = style.read_text(encoding="utf-8")
        if "@import" in text or "url(http" in text or "url(//" in text:
            found.append(f"{style.relative_to(folder)} loads something")
    return found


def faults_in_browser(folder: Path, chromium: str) -> list[str]:
    """List what goes wrong when every page is opened from the disk, without a network."""
    from playwright.sync_api import sync_playwright

    found: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for size, (width, height) in SIZES.items():
            shown = browser.new_page(viewport={"width": width, "height": height})
            shown.on("console", lambda note: found.append(note.text) if note.type == "error" else 0)
            shown.on("pageerror", lambda error: found.append(str(error)))
            shown.on(
                "request",
                lambda asked: (
                    None
                    if asked.url.startswith(("file:", "data:", "blob:"))
                    else found.append(f"asks for {asked.url}")
                ),
            )
            # The pages of the Python interface are alike: the narrow screen shows all their faults.
            for path in sorted(folder.resolve().rglob("*.html")):
                if size == "desktop" and path.parent.name == "api":
                    continue
                shown.goto(path.as_uri(), wait_until="load")
                name = f"{path.relative_to(folder.resolve())} ({size})"
                if shown.evaluate("document.documentElement.scrollWidth > innerWidth + 1"):
                    found.append(f"{name} is wider than the screen")
                if shown.evaluate(
                    "[...document.images].some(i => i.loading != 'lazy' && !i.naturalWidth)"
                ):
                    found.append(f"{name} has a picture that does not show")
        shown.goto((folder.resolve() / "search.html").as_uri() + "?q=radius")
        try:
            shown.wait_for_selector("#search-results li a", timeout=20_000)
        except Exception as error:
            found.append(f"the search finds nothing: {error}")
        browser.close()
    return found


def main(folder: Path) -> None:
    """Print the faults of a site, and fail if there are any."""
    found = faults(folder)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium:
        found += faults_in_browser(folder, chromium)
    elif os.environ.get("SPECTRAWALK_REQUIRE_PROGRAMS"):
        found.append("Chromium is not installed")
    for each in found:
        print(each)
    if found:
        raise SystemExit(f"{len(found)} faults")
    print(f"{len(list(folder.rglob('*.html')))} pages are whole")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
