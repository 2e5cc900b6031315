"""What is changed in each built page: what it says to search engines and social cards, and what it need not load."""

import re
from html import escape, unescape
from pathlib import Path
from urllib.parse import urljoin

import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image
from scipy import ndimage

from pcgraph_lite.files import digest

from .colours import RIGHT, WRONG

ICONS = re.compile(r'<script[^>]*scripts/fontawesome\.js[^>]*></script>\s*|<link[^>]*scripts/fontawesome\.js[^>]*>\s*')
LIVE_CODE = re.compile(r"<script>const THEBE_JS_URL.*?</script>", re.DOTALL)     # a library is named there, never used
FORMULAS = re.compile(r'<script[^>]*mathjax/tex-mml-chtml\.js[^>]*></script>\s*')
PICTURES = re.compile(r'(<figure[^>]*>\s*|<div class="result-picture[^>]*>\s*)((?:<img [^>]*>\s*)+)')
SPOKEN = {'<summary><span class="toctree-toggle"':                         # the theme's arrow beside "How to"
          '<summary aria-label="Its pages"><span class="toctree-toggle"',
          '<div role="list" class="citation-list">': '<div class="citation-list">'}       # it holds no list items
CODE = re.compile(r'<(pre|script|style).*?</\1>|<(span|div) class="math[^>]*>.*?</\2>', re.DOTALL)
LOOSE = re.compile(r"(?<=\d) (?=%)|(?<=\d ±) (?=\d)|(?<=\d) (?=to [\d.]+\))|(?<=\d to) (?=[\d.]+\))"
                   r"|(?<=\d) (?=(?:ms|s|dB|MB|GB|MiB|GiB)\b)|(?<=\[\d,) (?=\d\])|(?<=\[-\d,) (?=\d\])"
                   r"|(?<=\b[A-Za-zγσ]) (?== -?\d)|(?<=\b[A-Za-zγσ] =) (?=-?\d)")
POWER = re.compile(r"(?<![\w.])\d[\d.]*e-\d+(?![^<>]*>)")                  # a number with a power of ten, in no tag
LISTING = re.compile(r'<div class="code-block-caption">.*?</div>', re.DOTALL)
STRAIGHT = str.maketrans("“”‘’", "\"\"''")                                # code has no other quotes
HEAVY = 200_000                            # bytes of a picture
VIVID, MERGED = 100, 24                    # of 255 levels: lines drawn in colour, and by how much theirs may change
SEEN = 1.0                                 # of 255 levels, the mean over pixels and channels
PALETTES = (64, 256)                       # colours
LONGEST = 200                                                              # letters of a description
COLOURED = 25                              # of 255 levels between the channels of a pixel that is not grey
PHOTO = 1500                               # coloured shades, of 32 a channel: drawings have a few hundred
FRAMES = [[round(255 * part) for part in to_rgb(color)] for color in (RIGHT, WRONG)]
NEAR = 60                                  # of 255 levels: as a palette and smooth edges leave a frame's colour
PAGE = 18                                  # of 255 levels: the dark theme's page, as the style sheet turns figures
TILE = 24                                  # pixels: what is smaller is no photograph


def polish(site: Path) -> None:
    """Rewrite every page of a built website, and delete what none of them loads any more."""
    same = twins(site / "_images")
    for page in site.rglob("*.html"):
        text = polished(page.read_text(encoding="utf-8"), page.parent)
        page.write_text(re.sub(r"_images/([\w.-]+)", lambda file: f"_images/{same.get(file[1], file[1])}", bound(text)),
                        encoding="utf-8")
    for name in same:
        (site / "_images" / name).unlink()
    for picture in (site / "_images").glob("*.png"):
        lighten(picture)
    for file in (site / "_static/scripts").glob("*"):
        if file.name.startswith("fontawesome.js") or file.suffix == ".map":
            file.unlink()


def bound(page: str) -> str:
    """A page whose lines break neither before a % or a unit nor after a ± nor within a short interval, an assignment or
    a power of ten. Code and formulas stay as they are.
    """
    parts, at = [], 0
    for code in CODE.finditer(page):
        parts += [_bound(page[at:code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, _bound(page[at:])])


def _bound(text: str) -> str:
    return POWER.sub(r'<span class="whole">\g<0></span>', LOOSE.sub("\u00a0", text))


def twins(folder: Path) -> dict[str, str]:
    """Pictures that are there a second time under the digest of their content, as outputs of notebooks are named."""
    names = {path.name: f"{digest(path)}{path.suffix}" for path in folder.glob("*.png")}
    return {name: twin for name, twin in names.items() if twin != name and twin in names}


def lighten(file: Path) -> None:
    """Large pictures without the transparency that none of their pixels has, and by a palette where no eye sees it."""
    if file.stat().st_size < HEAVY:
        return
    with Image.open(file) as picture:
        opaque = picture.mode == "RGB" or (picture.mode == "RGBA" and picture.getextrema()[3] == (255, 255))
        plain = picture.convert("RGB") if opaque else None
    if plain is not None:
        by_palette(plain).save(file, optimize=True)


def by_palette(picture: Image.Image) -> Image.Image:
    """A picture of as few colours as no eye tells from it, without any loss where 256 do; else as it is."""
    if picture.getcolors(256):
        return picture.quantize(256)
    pixels = np.asarray(picture).astype(int)
    vivid = np.ptp(pixels, axis=2) > VIVID
    for colours in PALETTES if _shades(pixels) < PHOTO else ():            # no palette holds a photograph
        few = picture.quantize(colours, kmeans=2)                          # else rare colours, such as frames, pale
        off = np.abs(np.asarray(few.convert("RGB"), int) - pixels).max(2)
        if off.mean() < SEEN and (not vivid.any() or np.percentile(off[vivid], 99) < MERGED):
            return few
    return picture


def polished(page: str, folder: Path) -> str:
    """A page that loads images when they come near and no script in vain, draws icons by its style, describes itself.

    ``folder``: where the page lies, to find the size of its images: room is kept for those that are not loaded yet.
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
        base = re.search(r'<link rel="canonical" href="([^"]+)"', head)         # where html_baseurl is set
        if base and (picture := re.search(r'<img [^>]*src="([^"]+\.png)"', article)):      # no card follows other paths
            words |= {"og:image": urljoin(base[1], picture[1]), "twitter:card": "summary_large_image"}
        tags = f'<meta name="description" content="{escape(said)}">\n' + "".join(
            f'<meta property="{name}" content="{escape(value)}">\n' for name, value in words.items())
        head = head.replace("</head>", f"{tags}</head>", 1)
    return head + start + article


def _image(tag: str, folder: Path) -> str:
    """An image with its size, loaded when it comes near, the figure at the top of a page at once; of photographs a
    second one for the dark theme."""
    if "loading=" in tag:
        return tag
    late = "" if "result-figure" in tag else 'loading="lazy" decoding="async" '
    source = re.search(r'src="([^"]+)"', tag)
    file = folder / source[1] if source else folder
    if file.suffix != ".png" or not file.is_file():
        return tag.replace("<img ", f"<img {late}", 1)
    with Image.open(file) as picture:
        (width, height), dark = picture.size, darkened(np.asarray(picture.convert("RGB")))
    size = "" if "width=" in tag else f'width="{width}" height="{height}" style="--natural: {width}" '
    tag = tag.replace("<img ", f"<img {late}{size}", 1)
    if dark is None:
        return tag
    save_dark(dark, file)
    if not late:                                                           # a hidden picture is not loaded
        tag = tag.replace("<img ", '<img loading="lazy" ', 1)
    return _classed(tag, "only-light") + _classed(tag, "only-dark").replace(".png", ".dark.png", 1)


def save_dark(dark: np.ndarray, file: Path) -> None:
    """Save the picture for the dark theme beside its ``file``."""
    Image.fromarray(dark).save(file.with_suffix(".dark.png"), optimize=True)


def _classed(tag: str, name: str) -> str:
    return tag.replace('class="', f'class="{name} ', 1) if 'class="' in tag else tag.replace(
        "<img ", f'<img class="{name}" ', 1)


def darkened(pixels: np.ndarray) -> np.ndarray | None:
    """A figure of photographs, ``(height, width, 3)``, for the dark theme: light is dark and hues stay, but for the
    photographs themselves. None: a figure without any, which the style turns as a whole.
    """
    if _shades(pixels) < PHOTO:
        return None
    vivid = np.ptp(pixels, axis=2) > COLOURED                              # (height, width)
    wide = pixels.astype(int)
    turned = wide + 255 - wide.max(2, keepdims=True) - wide.min(2, keepdims=True)
    turned = PAGE + turned * (255 - 2 * PAGE) // 255                       # white to the colour of the page
    frames = np.any([np.abs(wide - color).max(2) < NEAR for color in FRAMES], axis=0)
    tiles, _ = ndimage.label((pixels < 250).any(2) & ~frames)              # frames touch, and would join rows
    large = [place for place in ndimage.find_objects(tiles) if min(vivid[place].shape) > TILE]
    coloured = [place for place in large if (vivid & ~frames)[place][4:-4, 4:-4].mean() > 0.005    # or a tick's edge
                and (pixels[place] < 245).any(2).mean() > 0.5]             # and no panel with lines on white
    if not coloured:
        return None
    marks = ndimage.binary_closing(_large(frames), iterations=2)           # with the ticks in them
    for place in large:
        row = [other for other in large if _beside(place, other)]
        if place in coloured or 2 * sum(other in coloured for other in row) > len(row):    # a grey car among cars
            rim = np.ones(vivid[place].shape, bool)                        # frame and tick; a red car is inside
            rim[4:-4, 4:-4] = False
            rim[:len(rim) // 4, -(len(rim) // 4):] = True
            turned[place] = np.where((marks[place] & rim)[..., None], turned[place], wide[place])
    return turned.astype(np.uint8)


def _shades(pixels: np.ndarray) -> int:
    """How many coloured shades, of 32 a channel, a picture has."""
    return len(np.unique((pixels[np.ptp(pixels, axis=2) > COLOURED] >> 3).astype(int) @ (1024, 32, 1)))


def _large(frames: np.ndarray) -> np.ndarray:
    """Those of the marked pixels that hang together over more than ``TILE``, as a frame does."""
    parts, _ = ndimage.label(frames, np.ones((3, 3)))
    sizes = [max(part.shape) for part in map(parts.__getitem__, ndimage.find_objects(parts))]
    return np.isin(parts, [k for k, size in enumerate(sizes, 1) if size > TILE])


def _beside(tile: tuple[slice, slice], other: tuple[slice, slice]) -> bool:
    """Whether two tiles are of one row: each of them reaches over the middle of the other."""
    rows, others = tile[0], other[0]
    return (rows.start <= (others.start + others.stop) // 2 < rows.stop
            and others.start <= (rows.start + rows.stop) // 2 < others.stop)


def description(article: str) -> str:
    """The first finding of a page, else its first paragraph, cut at a word."""
    found = re.search(r'<span class="finding-said">(.*?)</span>', article, re.DOTALL) or re.search(
        r"</h1>.*?<p>(.*?)</p>", article, re.DOTALL)
    text = " ".join(unescape(re.sub(r"<[^>]+>", "", found[1])).split()) if found else ""
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
