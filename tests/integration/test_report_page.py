"""A page as a browser shows it: from disk, offline, without scripts, by keyboard and for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from browser_pages import opened_page, started_browser, violations
from derived_runs import stored_levels
from front_door import irbench

pytestmark = pytest.mark.ci

LEVELS = {"ort": (2.0, 2.1, 1.9, 2.0), "openvino": (1.0, 1.05, 0.95, 1.0), "tf": (4.0, 4.1, 3.9, 4.0)}


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    stored_levels(root, LEVELS)
    output = root / "report.html"
    called = irbench("report", "latest", "--results", root, "-o", output)
    assert called.code == 0, called.err
    return output


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as browser:
        yield browser


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Callable[..., Any]:
    return partial(opened_page, browser, page_file)


def shown_rows(page: Any) -> list[str]:
    rows: list[str] = page.locator("tbody tr:visible th bdi").all_inner_texts()
    return rows


def test_columns_sort_in_both_directions(opened: Callable[..., Any]):
    with opened() as page:
        page.get_by_role("button", name="p50 ms").click()
        assert shown_rows(page) == ["openvino", "ort", "tf"]
        page.get_by_role("button", name="p50 ms").click()
        assert shown_rows(page) == ["tf", "ort", "openvino"]


def test_the_filter_leaves_rows_that_hold_every_word(opened: Callable[..., Any]):
    with opened() as page:
        page.get_by_label("Filter rows").fill("openvino")
        assert shown_rows(page) == ["openvino"]
        assert page.locator(".count").inner_text() == "1 of 3 rows"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_that_of_the_system_until_it_is_changed(scheme: str, opened: Callable[..., Any]):
    with opened(color_scheme=scheme) as page:
        colour = "getComputedStyle(document.body).backgroundColor"
        before = page.evaluate(colour)
        page.locator("#theme").click()
        assert page.evaluate(colour) != before
        page.locator("#theme").click()
        assert page.evaluate(colour) == before


def test_a_chart_is_one_stop_and_arrow_keys_go_from_mark_to_mark(opened: Callable[..., Any]):
    with opened() as page:
        figure = page.locator("figure").first
        figure.locator(".chart.wide").focus()
        page.keyboard.press("ArrowRight")
        first = figure.locator(".mark").inner_text()
        page.keyboard.press("ArrowRight")
        assert first
        assert figure.locator(".mark").inner_text() not in ("", first)
        assert page.locator("tr.on").count() == 1
        page.keyboard.press("Escape")
        assert page.locator("tr.on").count() == 0


def test_without_scripts_the_page_has_its_verdict_table_and_charts(opened: Callable[..., Any]):
    with opened(java_script_enabled=False) as page:
        assert page.locator(".verdict").is_visible()
        assert len(shown_rows(page)) == len(LEVELS)
        assert page.locator("figure svg:visible").count() > 3
        assert page.locator(".needs-script:visible").count() == 0


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_nothing_is_wider_than_the_screen(width: int, opened: Callable[..., Any]):
    with opened(viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for box in (chart.bounding_box() for chart in page.locator("figure svg:visible").all()):
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_the_page_prints(opened: Callable[..., Any]):
    with opened() as page:
        assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme: str, opened: Callable[..., Any]):
    with opened(color_scheme=scheme, bypass_csp=True) as page:
        assert violations(page) == []
