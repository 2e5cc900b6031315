"""One Chromium for all browser tests of a file, without which they are skipped."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pcgraph_lite.errors import BadFile

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """Skips where there is none."""
    picture_live = pytest.importorskip("picture_live", reason="playwright is not installed")
    try:
        with picture_live.chromium() as browser:
            yield browser
    except BadFile as missing:
        pytest.skip(str(missing))
