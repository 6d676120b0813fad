"""A page as a browser shows it: from disk, offline, without scripts, by keyboard and for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import fake_runs
import models
import pytest
from browser_pages import opened_page, started_browser, violations
from compared_runs import EVEN, store, times
from derived_runs import stored_levels
from front_door import irbench
from profiles import example, with_peaks

from irbench.features.profile.profile_document import encode_profile
from irbench.features.report.contents import contents_of
from irbench.features.report.view import page_of_runs
from irbench.pages.html import html_of
from irbench.store.profiles import begin_profile

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
def other_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page of two runs that are compared, a search, a profile and a history."""
    root = tmp_path_factory.mktemp("others")
    search = store(root, {"ort": EVEN, "tf": times(2)}, plan={"name": "before", "is_part_of": "search"})
    store(root, {"ort": times(1.3), "tf": times(2)}, plan={"name": "after", "search_run": search.document.run_id})
    store(root, {"ort": EVEN, "tf": times(2)}, plan={"name": "again"})
    profile = with_peaks(example())
    graphs = {key: tuple(replace(node, moved_bytes=10**6) for node in nodes) for key, nodes in profile.graphs.items()}
    named = begin_profile(root, "2025-11-20T00:00:00+00:00", profile.profile_id)
    named.commit(encode_profile(replace(profile, graphs=graphs)))
    contents = contents_of(root, ["again", "after"])
    others = contents_of(root, ["before", profile.profile_id, "tiny"])
    output = root / "report.html"
    page = page_of_runs(
        (*contents.runs, *others.runs),
        (*contents.results, *others.results),
        (*contents.searches, *others.searches),
    )
    output.write_text(html_of(page), encoding="utf-8")
    return output


@pytest.fixture(scope="module")
def measured_page(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a page of a model that was measured, and the program that ``show`` prints of its fastest row."""
    root = tmp_path_factory.mktemp("measured")
    model, results, output = models.mlp(root).path, root / "results", root / "report.html"
    backends = ("--backends", "ort,openvino", "--threads", "1")
    called = irbench("run", model, *fake_runs.FASTEST, *backends, "--results", results)
    assert called.code == 0, called.err
    called = irbench("report", "latest", "--results", results, "-o", output)
    assert called.code == 0, called.err
    shown = irbench("show", "latest", "--code", "--results", results)
    assert shown.code == 0, shown.err
    return output, shown.out


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as browser:
        yield browser


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Callable[..., Any]:
    return partial(opened_page, browser, page_file)


@pytest.fixture
def others_opened(browser: Any, other_page: Path) -> Callable[..., Any]:
    return partial(opened_page, browser, other_page)


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


def test_the_program_of_the_fastest_row_is_copied_as_show_prints_it(browser: Any, measured_page: tuple[Path, str]):
    file, program = measured_page
    with opened_page(browser, file, permissions=["clipboard-read", "clipboard-write"]) as page:
        assert not page.locator("details.code pre").is_visible()
        page.locator("details.code summary").click()
        page.get_by_role("button", name="Copy").click()
        page.get_by_text("Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == program


def test_where_the_clipboard_is_refused_the_code_is_selected(browser: Any, measured_page: tuple[Path, str]):
    file, program = measured_page
    with opened_page(browser, file) as page:
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
        page.locator("details.code summary").click()
        page.get_by_role("button", name="Copy").click()
        assert page.evaluate("getSelection().toString()").strip() == program.strip()


def test_without_scripts_the_code_can_be_opened_and_selected(browser: Any, measured_page: tuple[Path, str]):
    file, program = measured_page
    with opened_page(browser, file, java_script_enabled=False) as page:
        page.locator("details.code summary").click()
        assert page.locator("details.code pre").is_visible()
        assert page.locator("details.code pre").text_content() == program
        assert page.locator("details.code button:visible").count() == 0


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_nothing_is_wider_than_the_screen(width: int, opened: Callable[..., Any]):
    with opened(viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for box in (chart.bounding_box() for chart in page.locator("figure svg:visible").all()):
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("width", [390, 1280])
def test_paper_has_the_table_and_wide_charts_without_what_is_to_be_clicked(width: int, opened: Callable[..., Any]):
    with opened(viewport={"width": width, "height": 900}) as page:
        page.emulate_media(media="print")
        assert len(shown_rows(page)) == len(LEVELS)
        figures = page.locator("figure").count()
        assert page.locator(".chart.wide svg:visible").count() == figures > 3
        assert page.locator(".chart.narrow svg:visible").count() == 0
        assert page.locator("header:visible, .needs-script:visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme: str, opened: Callable[..., Any]):
    with opened(color_scheme=scheme, bypass_csp=True) as page:
        assert violations(page) == []


def test_profiles_searches_histories_and_comparisons_have_their_charts(others_opened: Callable[..., Any]):
    with others_opened(java_script_enabled=False) as page:
        drawn = {figure.get_attribute("id").rpartition("-")[2] for figure in page.locator("figure").all()}
        assert {"classes", "operators", "roofline", "nodes", "search", "changes", "p50", "speedups"} <= drawn


def test_every_mark_of_every_chart_says_what_it_shows(others_opened: Callable[..., Any]):
    with others_opened() as page:
        for figure in page.locator("figure").all():
            labels = figure.locator(".chart.wide [data-row]").evaluate_all(
                "marks => marks.map((mark) => mark.getAttribute('aria-label'))"
            )
            assert labels
            assert all(labels)
            assert figure.locator("details p").text_content()


def test_no_mark_is_of_two_results(others_opened: Callable[..., Any]):
    with others_opened() as page:
        figure = page.locator("figure[id$='-classes']")
        figure.locator(".chart.wide").focus()
        page.keyboard.press("ArrowRight")
        own = figure.get_attribute("id").partition("-")[0]
        lit = page.locator("figure:has([data-row].on)").all()
        assert {one.get_attribute("id").partition("-")[0] for one in lit} == {own}


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_chart_of_any_result_is_wider_than_the_screen(width: int, others_opened: Callable[..., Any]):
    with others_opened(viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for box in (chart.bounding_box() for chart in page.locator("figure svg:visible").all()):
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_page_of_all_kinds(scheme: str, others_opened: Callable[..., Any]):
    with others_opened(color_scheme=scheme, bypass_csp=True) as page:
        assert violations(page) == []
