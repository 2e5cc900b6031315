"""Take the pictures that stand where a live part is, for readers without JavaScript: ``book/live/stills``.

    python scripts/picture_live.py               # after a change of the parts or of their weights; needs Chromium

A headless browser opens each part in the light theme, asks its first question, and waits until it has settled.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from pcgraph_lite.errors import BadFile
from pcgraph_lite.files import write_aside
from reproduction import checkout
from reproduction.book import live

STILLS, WIDTH, COLOURS = checkout.ROOT / "book/live/stills", 840, 64
WAIT = 120_000                                     # milliseconds


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window. Raises BadFile: there is no Chromium on the PATH."""
    if not (found := [*filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))]):
        raise BadFile("there is no Chromium on the PATH; Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0], timeout=WAIT)
        yield browser
        browser.close()


def main() -> None:
    """One picture a part, reduced to a palette: text and lines need no more."""
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for part in live.parts(checkout.ROOT):
            page = browser.new_page(viewport={"width": WIDTH, "height": 700}, reduced_motion="reduce",
                                    device_scale_factor=2)
            page.set_default_timeout(WAIT)
            place, up = Path(folder) / "page.html", (checkout.ROOT / "book").as_uri() + "/"
            place.write_text('<!doctype html><html lang="en"><meta charset="utf-8"><style>body{font-family:sans-serif}'
                             f"</style>{live.markup(checkout.ROOT, part, up)}</html>")
            page.goto(place.as_uri())
            page.wait_for_selector('.pc-live[data-ready="yes"]', state="attached")
            if page.locator(".pc-main").count():
                page.click(".pc-main")
                page.wait_for_function("/steps/.test(document.querySelector('.pc-say').textContent)")
            page.locator(".pc-body").screenshot(path=f"{folder}/{part}.png")
            with write_aside(STILLS / f"{part}.png") as part_file, Image.open(f"{folder}/{part}.png") as image:
                image.convert("RGB").quantize(COLOURS).save(part_file, format="png", optimize=True)


if __name__ == "__main__":
    main()
