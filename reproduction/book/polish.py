"""Polish each built page: describe it to search engines, and remove what it need not load."""

import os
import re
from collections.abc import Mapping
from html import escape, unescape
from pathlib import Path

import numpy as np
from PIL import Image

from . import galleries

ICONS = re.compile(r'<script[^>]*scripts/fontawesome\.js[^>]*></script>\s*|<link[^>]*scripts/fontawesome\.js[^>]*>\s*')
LIVE_CODE = re.compile(r"<script>const THEBE_JS_URL.*?</script>", re.DOTALL)     # it names a library that is never used
FORMULAS = re.compile(r'<script[^>]*mathjax/tex-mml-chtml\.js[^>]*></script>\s*')
PICTURES = re.compile(r"(<figure[^>]*>\s*)((?:<img [^>]*>\s*)+)")
SPOKEN = {'<summary><span class="toctree-toggle"':                         # the theme's arrow beside "How to"
          '<summary aria-label="Its pages"><span class="toctree-toggle"',
          '<div role="list" class="citation-list">': '<div class="citation-list">'}       # its items are no list items
CODE = r'<(?P<tag>pre|script|style).*?</(?P=tag)>|<(?P<math>span|div) class="math[^>]*>.*?</(?P=math)>'
LOOSE = (r"(?<=\d) (?=%|± \d)|(?<=\d ±) (?=\d)|(?<=\d) (?=to [\d.]+\))|(?<=\d to) (?=[\d.]+\))"
         r"|(?<=\d) (?=(?:ms|s|dB|MB|GB|MiB|GiB)\b)|(?<=\[\d,) (?=\d\])|(?<=\[-\d,) (?=\d\])"
         r"|(?<=\b[A-Za-zγσ]) (?== -?\d)|(?<=\b[A-Za-zγσ] =) (?=-?\d)|(?<=\bTγ) (?== \d)|(?<=\bTγ =) (?=\d)")
POWER = r"(?<![\w.])\d[\d.]*e-\d+(?![^<>]*>)"                              # a number with a power of ten, not in a tag
UNBROKEN = re.compile(f"(?P<code>{CODE})|(?P<loose>{LOOSE})|(?P<power>{POWER})", re.DOTALL)
MARKED = re.compile(rf"{CODE}|<code.*?</code>|<[^>]*>"                     # what keeps its straight apostrophes
                    r"|(?P<said>(?<=[A-Za-z])(?:'|&#39;)(?=[A-Za-z])|(?<=s)(?:'|&#39;)(?=\s))", re.DOTALL)
MENTION = re.compile(rf"{CODE}|<(?P<kept>a|h\d|summary|button)\b.*?</(?P=kept)>|<[^>]*>"
                     r"|\b[Pp]age (?P<page>[1-6][a-d]?|[A-L][12]?)\b", re.DOTALL)
LISTING = re.compile(r'<div class="code-block-caption">.*?</div>', re.DOTALL)
STRAIGHT = str.maketrans("“”‘’", "\"\"''")                                # code has no other quotes
HEAVY = 100_000                            # bytes of a picture
DPI = 110                                  # of a picture with one pixel for each of the page
CITE = "book/references.html#cite"          # where the foot of every page leads, from the root
LONGEST = 200                                                              # letters of a description
COLOURED = 25                              # of 255 levels between the channels of a pixel that is not grey
PHOTO, SOME = 180, 20                      # coloured shades of 16 levels a channel, each of so many pixels


def polish(site: Path) -> None:
    """Rewrite every page of a built website, and delete files that no page loads any more."""
    pages = {short_name(page): page for page in (site / "book/notebooks").glob("*.html")}
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8").replace(f'"{CITE}"', f'"{os.path.relpath(site / CITE, page.parent)}"')
        others = {name: os.path.relpath(other, page.parent) for name, other in pages.items() if other != page}
        page.write_text(unbroken(linked(polished(text, page.parent), others, short_name(page))), encoding="utf-8")
    for picture in (site / "_images").glob("*.png"):
        if picture.stat().st_size > HEAVY:
            lighten(picture)
    for file in (site / "_static/scripts").glob("*"):
        if file.name.startswith("fontawesome.js") or file.suffix == ".map":
            file.unlink()


def short_name(page: Path) -> str:
    """What texts call a page: 3a for 03a-fully-connected, B1 for b1-feedforward-recurrent."""
    name = page.stem.partition("-")[0].lstrip("0")
    return name.upper() if name[0].isalpha() else name


def linked(page: str, others: Mapping[str, str], own: str = "") -> str:
    """The page with a link at each "page 3a" of its text, or "this page". ``others``: short name -> address."""
    def link(found: re.Match[str]) -> str:
        if found["page"] == own:
            return f"{'This' if found[0].startswith('P') else 'this'} page"
        address = others.get(found["page"])
        return f'<a href="{address}">{found[0]}</a>' if address else found[0]

    head, start, article = page.partition('<article class="bd-article">')
    text, end, foot = article.partition("</article>")
    return head + start + MENTION.sub(link, text) + end + foot


def unbroken(page: str) -> str:
    """The page without line breaks beside a unit or a ± or inside a short formula; code and math do not change."""
    kept: dict[str | None, str] = {"code": "{0}", "loose": "\u00a0", "power": '<span class="whole">{0}</span>'}
    return UNBROKEN.sub(lambda found: kept[found.lastgroup].format(found[0]), page)


def curled(page: str) -> str:
    """The page with the apostrophes of print in its words, as the builder sets them in Markdown, and not in code."""
    return MARKED.sub(lambda found: "\u2019" if found["said"] else found[0], page)


def lighten(file: Path) -> None:
    """Save a drawing with a palette, which no eye sees, and a photograph without a useless alpha channel."""
    with Image.open(file) as picture:
        if picture.mode != "RGB" and (picture.mode != "RGBA" or picture.getextrema()[-1] != (255, 255)):
            return
        plain = picture.convert("RGB")
    # fewer colours pale the frames; the highest level takes five times as long, for a twentieth of the bytes
    (plain if is_photograph(plain) else plain.quantize(256)).save(file, compress_level=7)


def polished(page: str, folder: Path) -> str:
    """The page with lazy images, a description, icons of its style sheet and no unused script. ``folder``: its own."""
    page = LIVE_CODE.sub("", ICONS.sub("", page))
    for unclear, clear in SPOKEN.items():
        page = page.replace(unclear, clear)
    head, start, article = page.partition('<article class="bd-article">')
    if 'class="math' not in article:
        head = FORMULAS.sub("", head)
    article = re.sub(r"<img [^>]*>", lambda image: _image(image[0], folder), article)
    article = LISTING.sub(lambda found: found[0].translate(STRAIGHT), curled(article))
    article = PICTURES.sub(_boxed, article)
    if (said := description(article)) and 'name="description"' not in head:
        head = head.replace("</head>", f'<meta name="description" content="{escape(said)}">\n</head>', 1)
    return head + start + article


def _boxed(figure: re.Match[str]) -> str:
    """The picture of a figure in a box that scrolls and knows its width. Names of its rows, if any, stay in sight."""
    natural = re.search(r"--natural: \d+", figure[2])
    names = ""
    for tag in re.findall(r"<img [^>]*--names[^>]*>", figure[2]):          # its left edge, once more
        style, source = (re.findall(rf'{name}="([^"]+)"', tag)[0] for name in ("style", "src"))
        kind = ' class="photograph"' if 'class="photograph' in tag else ""
        names += f'<span class="row-names" style="{style}"><img{kind} alt="" loading="lazy" src="{source}"></span>'
    width = natural[0] if natural else "--natural: 0"
    return f'{figure[1]}<span class="wide-picture" style="{width}">{names}{figure[2]}</span>'


def _image(tag: str, folder: Path) -> str:
    """The tag of an image with its size. All but a page's top figure load lazily, and photographs have a class."""
    if "loading=" in tag:
        return tag
    late = "" if "result-figure" in tag else 'loading="lazy" decoding="async" '
    source = re.search(r'src="([^"]+)"', tag)
    file = folder / source[1] if source else folder
    if file.suffix != ".png" or not file.is_file():
        return tag.replace("<img ", f"<img {late}", 1)
    with Image.open(file) as picture:
        density = max(1, round(picture.info.get("dpi", (DPI,))[0] / DPI))               # 2 of a notebook's
        width, height = (side // density for side in picture.size)
        photograph, names = is_photograph(picture.convert("RGB")), galleries.names_end(picture)
    style = f"--natural: {width}; --high: {height}" + (f"; --names: {names:.4f}" if names else "")
    size = "" if "width=" in tag else f'width="{width}" height="{height}" style="{style}" '
    tag = tag.replace("<img ", f"<img {late}{size}", 1)
    if not photograph:
        return tag
    return tag.replace('class="', 'class="photograph ', 1) if 'class="' in tag else tag.replace(
        "<img ", '<img class="photograph" ', 1)


def is_photograph(picture: Image.Image) -> bool:
    """Whether an RGB picture has more coloured shades than drawings have."""
    red, green, blue = (np.asarray(picture)[galleries.coloured(picture, COLOURED)] >> 4).astype(int).T
    return bool((np.bincount(256 * red + 16 * green + blue) > SOME).sum() > PHOTO)


def description(article: str) -> str:
    """The first finding of a page, or its first paragraph, shortened at the end of a word."""
    found = re.search(r'<(\w+) class="finding-said">(?P<said>.*?)</\1>', article, re.DOTALL) or re.search(
        r"</h1>.*?<p>(?P<said>.*?)</p>", article, re.DOTALL)
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", found["said"])).split()) if found else ""
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
