"""What is changed in each built page: what it says to search engines and social cards, and what it need not load."""

import re
from html import escape, unescape
from pathlib import Path

ICONS = re.compile(r'<script[^>]*scripts/fontawesome\.js[^>]*></script>\s*|<link[^>]*scripts/fontawesome\.js[^>]*>\s*')
LIVE_CODE = re.compile(r"<script>const THEBE_JS_URL.*?</script>", re.DOTALL)     # a library is named there, never used
LONGEST = 200                                                              # letters of a description


def polish(site: Path) -> None:
    """Rewrite every page of a built website, and delete what none of them loads any more."""
    for page in site.rglob("*.html"):
        page.write_text(polished(page.read_text(encoding="utf-8")), encoding="utf-8")
    for file in (site / "_static/scripts").glob("*"):
        if file.name.startswith("fontawesome.js") or file.suffix == ".map":
            file.unlink()


def polished(page: str) -> str:
    """A page that loads images when they come near, draws icons by its style, and describes itself."""
    page = LIVE_CODE.sub("", ICONS.sub("", page))
    head, start, article = page.partition('<article class="bd-article">')
    article = re.sub(r"<img (?![^>]*(?:loading=|result-figure))", '<img loading="lazy" decoding="async" ', article)
    if (said := description(article)) and 'name="description"' not in head:
        title = re.search(r"<title>(.*?)</title>", head, re.DOTALL)
        words = {"og:title": unescape(title[1]).strip() if title else "", "og:description": said, "og:type": "article"}
        tags = f'<meta name="description" content="{escape(said)}">\n' + "".join(
            f'<meta property="{name}" content="{escape(value)}">\n' for name, value in words.items())
        head = head.replace("</head>", f"{tags}</head>", 1)
    return head + start + article


def description(article: str) -> str:
    """The first finding of a page, else its first paragraph, cut at a word."""
    found = re.search(r'<span class="finding-said">(.*?)</span>', article, re.DOTALL) or re.search(
        r"</h1>.*?<p>(.*?)</p>", article, re.DOTALL)
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", found[1])).split()) if found else ""
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
