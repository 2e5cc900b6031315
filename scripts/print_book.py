"""Print a built website as one PDF on A4, its pages in the order of the contents, by Chromium: ``make pdf``.

The PDF lies beside the site; its outline has the pages' titles.
"""

import os
import shutil
import sys
from io import BytesIO
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter

from pcgraph_lite.files import write_aside
from reproduction.checkout import ROOT
from reproduction.evidence.strict import read_yaml

WAIT = 120_000                                     # milliseconds
READY = """async () => {
  const images = [...document.images];
  images.forEach(image => { image.loading = "eager"; });
  await Promise.all(images.map(image => image.decode().catch(() => null)));
  if (window.MathJax?.startup) await MathJax.startup.promise;
}"""
FOOTER = ('<p style="font-size: 7px; width: 100%; text-align: center">{title} · '
          '<span class="pageNumber"></span> of <span class="totalPages"></span></p>')


def pages(toc: Path) -> list[str]:
    """Every page of a table of contents, with those below others, in its order."""
    content = read_yaml(toc)
    chapters = [chapter for part in content["parts"] for chapter in part["chapters"]]
    below = [entry for chapter in chapters for entry in (chapter, *chapter.get("sections", []))]
    return [content["root"], *(entry["file"] for entry in below)]


def printed(page: Page, address: str) -> tuple[str, bytes]:
    """The title of a page, and the page as a PDF."""
    page.goto(address, wait_until="load")
    page.evaluate(READY)
    title = page.title().partition(" — ")[0]
    return title, page.pdf(prefer_css_page_size=True, print_background=True, display_header_footer=True,
                           header_template="<p></p>", footer_template=FOOTER.replace("{title}", title),
                           margin=dict.fromkeys(("top", "bottom", "left", "right"), "15mm"))


def main(site: Path, chromium: str | None) -> Path:
    """Print all pages of ``site`` and return the PDF's path."""
    if chromium is None:
        sys.exit("there is no Chromium to print with; Debian: apt-get install chromium")
    target, whole = site.parent / "pcgraph.pdf", PdfWriter()
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium, args=sandbox, timeout=WAIT)
        page = browser.new_page(color_scheme="light", reduced_motion="reduce")
        page.set_default_timeout(WAIT)
        for name in pages(ROOT / "_toc.yml"):
            title, content = printed(page, (site / f"{name}.html").as_uri())
            whole.append(PdfReader(BytesIO(content)), outline_item=title, import_outline=False)
        browser.close()
    whole.compress_identical_objects()             # fonts and pictures that pages share
    with write_aside(target) as part:
        whole.write(part)
    return target


if __name__ == "__main__":
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    print("the book on paper:", main(Path(sys.argv[1]).resolve(), next(found, None)))
