"""Polish each built page: describe it to search engines and social cards, and remove what it need not load."""

import re
from functools import reduce
from html import escape, unescape
from pathlib import Path
from urllib.parse import urljoin

import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image
from scipy import ndimage

from .colours import RIGHT, WRONG

ICONS = re.compile(r'<script[^>]*scripts/fontawesome\.js[^>]*></script>\s*|<link[^>]*scripts/fontawesome\.js[^>]*>\s*')
LIVE_CODE = re.compile(r"<script>const THEBE_JS_URL.*?</script>", re.DOTALL)     # it names a library that is never used
FORMULAS = re.compile(r'<script[^>]*mathjax/tex-mml-chtml\.js[^>]*></script>\s*')
PICTURES = re.compile(r"(<figure[^>]*>\s*)((?:<img [^>]*>\s*)+)")
SPOKEN = {'<summary><span class="toctree-toggle"':                         # the theme's arrow beside "How to"
          '<summary aria-label="Its pages"><span class="toctree-toggle"',
          '<div role="list" class="citation-list">': '<div class="citation-list">'}       # its items are no list items
CODE = re.compile(r'<(pre|script|style).*?</\1>|<(span|div) class="math[^>]*>.*?</\2>', re.DOTALL)
LOOSE = re.compile(r"(?<=\d) (?=%)|(?<=\d ±) (?=\d)|(?<=\d) (?=to [\d.]+\))|(?<=\d to) (?=[\d.]+\))"
                   r"|(?<=\d) (?=(?:ms|s|dB|MB|GB|MiB|GiB)\b)|(?<=\[\d,) (?=\d\])|(?<=\[-\d,) (?=\d\])"
                   r"|(?<=\b[A-Za-zγσ]) (?== -?\d)|(?<=\b[A-Za-zγσ] =) (?=-?\d)")
POWER = re.compile(r"(?<![\w.])\d[\d.]*e-\d+(?![^<>]*>)")                  # a number with a power of ten, not in a tag
LISTING = re.compile(r'<div class="code-block-caption">.*?</div>', re.DOTALL)
STRAIGHT = str.maketrans("“”‘’", "\"\"''")                                # code has no other quotes
HEAVY = 100_000                            # bytes of a picture
DPI = 110                                  # of a picture with one pixel for each of the page
VIVID, MERGED = 100, 24                    # of 255 levels: lines drawn in colour, and by how much theirs may change
SEEN = 1.0                                 # of 255 levels, the mean over pixels and channels
PALETTES = (64, 256)                       # colours
LONGEST = 200                                                              # letters of a description
COLOURED = 25                              # of 255 levels between the channels of a pixel that is not grey
PHOTO = 1500                               # coloured shades, of 32 a channel: drawings have a few hundred
FRAMES = [[round(255 * part) for part in to_rgb(color)] for color in (RIGHT, WRONG)]
NEAR = 60                                  # of 255 levels: a palette and smooth edges change a frame's colour
PAGE = 18                                  # of 255 levels: the background of the dark theme
TILE = 24                                  # pixels: a photograph is larger


def polish(site: Path) -> None:
    """Rewrite every page of a built website, and delete files that no page loads any more."""
    for page in site.rglob("*.html"):
        page.write_text(bound(polished(page.read_text(encoding="utf-8"), page.parent)), encoding="utf-8")
    for picture in (site / "_images").glob("*.png"):
        lighten(picture)
    for file in (site / "_static/scripts").glob("*"):
        if file.name.startswith("fontawesome.js") or file.suffix == ".map":
            file.unlink()


def bound(page: str) -> str:
    """The page without line breaks before a % or a unit, after a ±, or inside a short interval, an assignment or a
    power of ten. Code and formulas do not change.
    """
    parts, at = [], 0
    for code in CODE.finditer(page):
        parts += [_bound(page[at:code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _bound(page[at:])])


def _bound(text: str) -> str:
    return POWER.sub(r'<span class="whole">\g<0></span>', LOOSE.sub("\u00a0", text))


def lighten(file: Path) -> None:
    """Save a large picture without an unused alpha channel, and with a palette if no eye sees the difference."""
    if file.stat().st_size < HEAVY:
        return
    with Image.open(file) as picture:
        opaque = picture.mode == "RGB" or (picture.mode == "RGBA" and picture.getextrema()[3] == (255, 255))
        plain = picture.convert("RGB") if opaque else None
    if plain is not None:
        by_palette(plain).save(file, optimize=True)


def by_palette(picture: Image.Image) -> Image.Image:
    """The picture with a palette of as few colours as no eye can tell from it, else the picture itself."""
    if picture.getcolors(256):
        return picture.quantize(256)
    pixels = np.asarray(picture).astype(int)
    vivid = _differ(pixels, VIVID)
    for colours in PALETTES if _shades(pixels) < PHOTO else ():            # no palette holds a photograph
        few = picture.quantize(colours, kmeans=2)                          # else rare colours, such as frames, pale
        off = np.abs(np.asarray(few.convert("RGB"), int) - pixels).max(2)
        if off.mean() < SEEN and (not vivid.any() or np.percentile(off[vivid], 99) < MERGED):
            return few
    return picture


def polished(page: str, folder: Path) -> str:
    """The page with lazy images, without unused scripts, with icons from its style sheet and with a description.

    ``folder``: that of the page, to find the sizes of its images, so that lazy images keep their room.
    """
    page = LIVE_CODE.sub("", ICONS.sub("", page))
    for unclear, clear in SPOKEN.items():
        page = page.replace(unclear, clear)
    head, start, article = page.partition('<article class="bd-article">')
    if 'class="math' not in article:
        head = FORMULAS.sub("", head)
    article = re.sub(r"<img [^>]*>", lambda image: _image(image[0], folder), article)
    article = LISTING.sub(lambda found: found[0].translate(STRAIGHT), article)
    article = PICTURES.sub(r'\1<span class="wide-picture">\2</span>', article)
    if (said := description(article)) and 'name="description"' not in head:
        title = re.search(r"<title>(.*?)</title>", head, re.DOTALL)
        words = {"og:title": unescape(title[1]).strip() if title else "", "og:description": said, "og:type": "article"}
        base = re.search(r'<link rel="canonical" href="([^"]+)"', head)         # if html_baseurl is set
        if base and (picture := re.search(r'<img [^>]*src="([^"]+\.png)"', article)):      # not a relative path
            words |= {"og:image": urljoin(base[1], picture[1]), "twitter:card": "summary_large_image"}
        tags = f'<meta name="description" content="{escape(said)}">\n' + "".join(
            f'<meta property="{name}" content="{escape(value)}">\n' for name, value in words.items())
        head = head.replace("</head>", f"{tags}</head>", 1)
    return head + start + article


def _image(tag: str, folder: Path) -> str:
    """The tag of an image with its size. All but a page's top figure load lazily; figures with photographs get a second
    image for the dark theme."""
    if "loading=" in tag:
        return tag
    late = "" if "result-figure" in tag else 'loading="lazy" decoding="async" '
    source = re.search(r'src="([^"]+)"', tag)
    file = folder / source[1] if source else folder
    if file.suffix != ".png" or not file.is_file():
        return tag.replace("<img ", f"<img {late}", 1)
    with Image.open(file) as picture:
        dense = density(picture)
        (width, height), dark = (side // dense for side in picture.size), darkened(
            np.asarray(picture.convert("RGB")), dense)
    size = "" if "width=" in tag else f'width="{width}" height="{height}" style="--natural: {width}" '
    tag = tag.replace("<img ", f"<img {late}{size}", 1)
    if dark is None:
        return tag
    save_dark(dark, file)
    if not late:                                                           # a hidden picture is not loaded
        tag = tag.replace("<img ", '<img loading="lazy" ', 1)
    return _classed(tag, "only-light") + _classed(tag, "only-dark").replace(".png", ".dark.png", 1)


def density(picture: Image.Image) -> int:
    """How many of its pixels stand in one of the page, by its resolution: 2 of what a notebook draws today, else 1."""
    return max(1, round(picture.info.get("dpi", (DPI,))[0] / DPI))


def save_dark(dark: np.ndarray, file: Path) -> None:
    """Save the picture for the dark theme beside ``file``."""
    Image.fromarray(dark).save(file.with_suffix(".dark.png"), optimize=True)


def _classed(tag: str, name: str) -> str:
    return tag.replace('class="', f'class="{name} ', 1) if 'class="' in tag else tag.replace(
        "<img ", f'<img class="{name}" ', 1)


def darkened(pixels: np.ndarray, dense: int = 1) -> np.ndarray | None:
    """A figure with photographs, ``(height, width, 3)``, for the dark theme: light turns dark, but hues and photographs
    stay. None: the figure has no photographs, and the style sheet turns it as a whole. ``dense``: see ``density``.
    """
    if _shades(pixels) < PHOTO:
        return None
    vivid, edge = _differ(pixels, COLOURED), 4 * dense                     # (height, width)
    wide = pixels.astype(int)
    turned = wide + 255 - wide.max(2, keepdims=True) - wide.min(2, keepdims=True)
    turned = PAGE + turned * (255 - 2 * PAGE) // 255                       # white becomes the background
    frames = np.any([np.abs(wide - color).max(2) < NEAR for color in FRAMES], axis=0)
    tiles, _ = ndimage.label((pixels < 250).any(2) & ~frames)              # touching frames would join rows
    large = [place for place in ndimage.find_objects(tiles) if min(vivid[place].shape) > dense * TILE]
    inside = vivid & ~frames
    rows = [place[0] for place in large if inside[place][edge:-edge, edge:-edge].mean() > 0.005    # not a tick's edge
            and (pixels[place] < 245).any(2).mean() > 0.5]                 # not a panel with lines on white
    marks = ndimage.binary_closing(_large(frames, dense), iterations=2 * dense)  # with their ticks
    for place in large:
        middle = (place[0].start + place[0].stop) // 2
        if any(row.start <= middle < row.stop for row in rows):            # a grey car among cars, too
            rim = np.ones(vivid[place].shape, bool)                        # frame and tick, not a red car inside
            rim[edge:-edge, edge:-edge] = False
            rim[:len(rim) // 4, -(len(rim) // 4):] = True
            turned[place] = np.where((marks[place] & rim)[..., None], turned[place], wide[place])
    return turned.astype(np.uint8) if rows else None


def _shades(pixels: np.ndarray) -> int:
    """The number of coloured shades of a picture, with 32 levels per channel."""
    red, green, blue = (pixels[_differ(pixels, COLOURED)] >> 3).astype(int).T
    return np.count_nonzero(np.bincount(1024 * red + 32 * green + blue))


def _differ(pixels: np.ndarray, levels: int) -> np.ndarray:
    """Where the channels differ by more than some levels, ``(height, width)``."""
    channels = np.moveaxis(pixels, 2, 0)                                   # one by one: ten times as fast as np.ptp
    return reduce(np.maximum, channels) - reduce(np.minimum, channels) > levels


def _large(frames: np.ndarray, dense: int) -> np.ndarray:
    """The marked pixels in connected parts larger than ``TILE`` pixels of the page, as frames are."""
    parts, _ = ndimage.label(frames, np.ones((3, 3)))
    sizes = [max(part.shape) for part in map(parts.__getitem__, ndimage.find_objects(parts))]
    return np.isin(parts, [k for k, size in enumerate(sizes, 1) if size > dense * TILE])


def description(article: str) -> str:
    """The first finding of a page, or its first paragraph, shortened at the end of a word."""
    found = re.search(r'<(\w+) class="finding-said">(?P<said>.*?)</\1>', article, re.DOTALL) or re.search(
        r"</h1>.*?<p>(?P<said>.*?)</p>", article, re.DOTALL)
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", found["said"])).split()) if found else ""
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
