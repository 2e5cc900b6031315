"""What is changed in each built page: what it says to search engines and social cards, and what it need not load."""

import re
from html import escape, unescape
from pathlib import Path

from PIL import Image

from ..files import digest

ICONS = re.compile(r'<script[^>]*scripts/fontawesome\.js[^>]*></script>\s*|<link[^>]*scripts/fontawesome\.js[^>]*>\s*')
LIVE_CODE = re.compile(r"<script>const THEBE_JS_URL.*?</script>", re.DOTALL)     # a library is named there, never used
LONGEST = 200                                                              # letters of a description


def polish(site: Path) -> None:
    """Rewrite every page of a built website, and delete what none of them loads any more."""
    same = twins(site / "_images")
    for page in site.rglob("*.html"):
        text = polished(page.read_text(encoding="utf-8"), page.parent)
        page.write_text(re.sub(r"_images/([\w.-]+)", lambda file: f"_images/{same.get(file[1], file[1])}", text),
                        encoding="utf-8")
    for name in same:
        (site / "_images" / name).unlink()
    for file in (site / "_static/scripts").glob("*"):
        if file.name.startswith("fontawesome.js") or file.suffix == ".map":
            file.unlink()


def twins(folder: Path) -> dict[str, str]:
    """Pictures that are there a second time under the digest of their content, as outputs of notebooks are named."""
    names = {path.name: f"{digest(path)}{path.suffix}" for path in folder.glob("*.png")}
    return {name: twin for name, twin in names.items() if twin != name and twin in names}


def polished(page: str, folder: Path) -> str:
    """A page that loads images when they come near, draws icons by its style, and describes itself.

    ``folder``: where the page lies, to find the size of its images: room is kept for those that are not loaded yet.
    """
    page = LIVE_CODE.sub("", ICONS.sub("", page))
    head, start, article = page.partition('<article class="bd-article">')
    article = re.sub(r"<img [^>]*>", lambda image: _image(image[0], folder), article)
    if (said := description(article)) and 'name="description"' not in head:
        title = re.search(r"<title>(.*?)</title>", head, re.DOTALL)
        words = {"og:title": unescape(title[1]).strip() if title else "", "og:description": said, "og:type": "article"}
        tags = f'<meta name="description" content="{escape(said)}">\n' + "".join(
            f'<meta property="{name}" content="{escape(value)}">\n' for name, value in words.items())
        head = head.replace("</head>", f"{tags}</head>", 1)
    return head + start + article


def _image(tag: str, folder: Path) -> str:
    """An image with its size, loaded when it comes near; the figure at the top of a page at once."""
    if "loading=" in tag or "result-figure" in tag:
        return tag
    source = re.search(r'src="([^"]+)"', tag)
    file = folder / source[1] if source else folder
    size = ""
    if file.suffix == ".png" and file.is_file() and "width" not in tag:
        with Image.open(file) as picture:
            size = 'width="{}" height="{}" '.format(*picture.size)
    return tag.replace("<img ", f'<img loading="lazy" decoding="async" {size}', 1)


def description(article: str) -> str:
    """The first finding of a page, else its first paragraph, cut at a word."""
    found = re.search(r'<span class="finding-said">(.*?)</span>', article, re.DOTALL) or re.search(
        r"</h1>.*?<p>(.*?)</p>", article, re.DOTALL)
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", found[1])).split()) if found else ""
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
