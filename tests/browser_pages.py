"""Pages in a browser: from disk, offline, and any error on its console fails the test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def started_browser() -> Iterator[Any]:
    """Yield a browser; skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no browser: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened_page(browser: Any, file: Path, **options: Any) -> Iterator[Any]:
    """Yield a page that was opened from disk without a network."""
    context = browser.new_context(offline=True, **options)
    page, problems = context.new_page(), list[str]()
    page.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert problems == []


def violations(page: Any) -> list[tuple[str, str]]:
    """Return what axe finds that keeps some people from reading a page: the rule and the element."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python").Axe()
    return [(found["id"], found["nodes"][0]["html"]) for found in axe.run(page).response["violations"]]
