"""Label the list of references as the text cites them: "Hopfield, 1982", where the styles of pybtex print "Hop82"."""

from collections.abc import Iterable, Iterator
from string import ascii_lowercase

from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as Plain
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx

NAMED = 2            # with more authors than this, only the first is named


class Labels(BaseLabelStyle):
    """Labels of last names and year, as sphinxcontrib-bibtex's ``author_year`` cites them."""

    def format_labels(self, sorted_entries: Iterable[Entry]) -> Iterator[str]:
        labels = []
        for entry in sorted_entries:
            names = [" ".join(author.last_names) for author in entry.persons["author"]]
            shown = " and ".join(names) if len(names) <= NAMED else f"{names[0]} et al."
            labels.append(f"{shown}, {entry.fields['year']}")
        for place, label in enumerate(labels):
            letter = ascii_lowercase[labels[:place].count(label)] if labels.count(label) > 1 else ""
            yield label + letter


class Style(Plain):
    """pybtex's plain style, sorted by authors and labelled with their names."""

    default_label_style = Labels


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the style ``author_year`` for ``bibtex_default_style``. Sphinx calls this."""
    register_plugin("pybtex.style.formatting", "author_year", Style)
    return {"parallel_read_safe": True}
