"""The documentation site is built, refuses broken links, and is searched from disk, offline."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from documentation.pictures import pictures
from documentation.site import fill, generate

pytestmark = pytest.mark.ci

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    fill(folder / "docs-source")
    assert generate(folder) == 0
    return folder / "docs"


def test_every_page_is_built(built: Path):
    for page in ("index", "docs/protocol", "docs/reference/commands/run", "docs/adr/0001-dependencies", "SECURITY"):
        assert (built / f"{page}.html").is_file()


def test_a_link_that_leads_nowhere_is_named_with_its_place(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    fill(tmp_path / "docs-source")
    page = tmp_path / "docs-source" / "docs" / "energy.md"
    page.write_text(f"{page.read_text()}\n[a](gone.md) and [b](protocol.md#gone)\n")
    assert generate(tmp_path) != 0
    said = capfd.readouterr().err
    assert said.count(f"docs/energy.md:{len(page.read_text().splitlines())}") == 2


def test_the_pictures_are_those_that_are_drawn(subtests: pytest.Subtests):
    for path, text in pictures().items():
        with subtests.test(picture=path.name):
            kept = path.read_text()
            assert NUMBER.sub("", kept) == NUMBER.sub("", text), "run make picture"
            # processors differ in the last digits of what is simulated
            assert numbers(kept) == pytest.approx(numbers(text), rel=1e-6, abs=1e-9), "run make picture"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no browser: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, built: Path) -> Callable[..., Any]:
    @contextmanager
    def open_page(path: str, **options: Any) -> Iterator[Any]:
        context = browser.new_context(offline=True, **options)
        page, problems = context.new_page(), list[str]()
        page.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda asked: None if _is_local(asked.url) else problems.append(asked.url))
        page.goto((built / path).as_uri())
        yield page
        context.close()
        assert problems == []

    return open_page


def _is_local(address: str) -> bool:
    return address.startswith(("file:", "data:", "blob:", "about:"))


def test_a_word_is_found_from_disk(opened: Callable[..., Any]):
    with opened("index.html") as page:
        page.get_by_role("button", name="Search").first.click()
        page.get_by_role("combobox").or_(page.get_by_role("textbox")).first.fill("Hodges-Lehmann")
        page.locator("a[href*='protocol.html?h='][href$='#estimates']").first.click()
        page.wait_for_url("**/docs/protocol.html*")


@pytest.mark.parametrize("path", ["index.html", "docs/protocol.html", "docs/reference/python-api.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_a_telephone_and_follows_the_theme(path: str, scheme: str, opened: Callable[..., Any]):
    with opened(path, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert (
            page.locator("body").get_attribute("data-md-color-scheme") == {"light": "default", "dark": "slate"}[scheme]
        )
