"""One Chromium for all browser tests of a file, without which they are skipped."""

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WAIT = 120_000                                     # milliseconds; the machine may be busy


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """Skips where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium; Debian: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox, timeout=WAIT)
        yield browser
        browser.close()
