"""Print a built website as one PDF on A4, its pages in the order of the contents, by Chromium: ``make pdf``.

The PDF lies beside the site; its outline has the pages' titles.
"""

import sys
from io import BytesIO
from pathlib import Path

from picture_live import WAIT, chromium
from playwright.sync_api import Page
from pypdf import PdfReader, PdfWriter

from pcgraph_lite.files import write_aside
from reproduction.book import site as book
from reproduction.checkout import ROOT

READY = """async () => {
  const images = [...document.images];
  images.forEach(image => { image.loading = "eager"; });
  await Promise.all(images.map(image => image.decode().catch(() => null)));
  if (window.MathJax?.startup) await MathJax.startup.promise;
}"""
FOOTER = ('<p style="font-size: 7px; width: 100%; text-align: center">{title} · '
          '<span class="pageNumber"></span> of <span class="totalPages"></span></p>')


def printed(page: Page, address: str) -> tuple[str, bytes]:
    """The title of a page, and the page as a PDF."""
    page.goto(address, wait_until="load")
    page.evaluate(READY)
    title = page.title().partition(" — ")[0]
    return title, page.pdf(prefer_css_page_size=True, print_background=True, display_header_footer=True,
                           header_template="<p></p>", footer_template=FOOTER.replace("{title}", title),
                           margin=dict.fromkeys(("top", "bottom", "left", "right"), "15mm"))


def main(site: Path) -> Path:
    """Print all pages of ``site`` and return the PDF's path."""
    target, whole = site.parent / "pcgraph.pdf", PdfWriter()
    with chromium() as browser:
        page = browser.new_page(color_scheme="light", reduced_motion="reduce")
        page.set_default_timeout(WAIT)
        for name in book.listed(ROOT / "_toc.yml"):
            title, content = printed(page, (site / f"{name}.html").as_uri())
            whole.append(PdfReader(BytesIO(content)), outline_item=title, import_outline=False)
    whole.compress_identical_objects()             # fonts and pictures that pages share
    with write_aside(target) as part:
        whole.write(part)
    return target


if __name__ == "__main__":
    print("the book on paper:", main(Path(sys.argv[1]).resolve()))
