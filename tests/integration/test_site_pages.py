"""A site as a browser shows it: from disk, offline, searched, sorted, without scripts, and for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_pages import opened_page, started_browser, violations
from compared_runs import MACHINE, store, times
from front_door import irbench

pytestmark = pytest.mark.ci

HOSTILE = ("<script>alert(1)</script>", "\u202egnp.exe", "a" * 4000, "../../etc/passwd", " two  blanks ")
MACHINES = {
    name: {**MACHINE, "cpu": {**MACHINE["cpu"], "Model name": name}, "distributions": {"onnxruntime": version}}
    for name, version in (("Fast", "1.22.0"), ("Slow", "1.23.0"))
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    for factor, environment in enumerate(MACHINES.values(), 1):
        for place, model in enumerate(("resnet50", "bert")):
            levels = {"ort": times(factor * (1 + place)), "openvino": times(factor * (2 + place))}
            plan = {"command": ["irbench", "run", model]}
            store(root / "results", levels, environment=environment, table={"model": model}, plan=plan)
    for name in HOSTILE:
        store(root / "results", {"ort": times(1)}, environment=MACHINES["Fast"], table={"model": name})
    called = irbench("report", "--site", root / "pages", "--results", root / "results")
    assert called.code == 0, called.err
    return root / "pages"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as browser:
        yield browser


@pytest.fixture
def opened(browser: Any, site: Path) -> Callable[..., Any]:
    return lambda name="index.html", **options: opened_page(browser, site / name, **options)


def shown(page: Any, column: int = 1) -> list[str]:
    rows = page.locator(f"#cells-rows tbody tr:visible > :nth-child({column})")
    return [text.strip() for text in rows.all_inner_texts()]


def test_a_search_and_a_choice_leave_the_rows_that_fit_both(opened: Callable[..., Any]):
    with opened() as page:
        cells = page.locator("section", has=page.locator("#cells-rows"))
        cells.get_by_label("Filter rows").fill("resnet50")
        assert len(shown(page)) == 4
        cells.get_by_label("machine").select_option("Slow, 2 processors")
        assert shown(page) == ["resnet50"] * 2
        assert cells.locator(".count").inner_text() == "2 of 13 rows"
        cells.get_by_label("Filter rows").fill("")
        cells.get_by_label("machine").select_option("")
        assert len(shown(page)) == 13


def test_a_name_with_blanks_can_be_chosen(opened: Callable[..., Any]):
    with opened() as page:
        choice = page.locator("section", has=page.locator("#cells-rows")).get_by_label("model")
        for value in choice.locator("option").evaluate_all("options => options.map((option) => option.value)"):
            choice.select_option(value=value)
            assert shown(page)
        choice.select_option(value=" two  blanks ")
        assert len(shown(page)) == 1


def test_figures_sort_as_numbers_and_moments_as_words(opened: Callable[..., Any]):
    with opened() as page:
        table = page.locator("#cells-rows")
        table.get_by_role("button", name="p50 ms").click()
        figures = [float(text.split()[0]) for text in shown(page, 3)]
        assert figures == sorted(figures)
        table.get_by_role("button", name="measured").click()
        assert shown(page, 8) == sorted(shown(page, 8))


def test_every_row_leads_to_the_page_of_its_run_and_back(opened: Callable[..., Any]):
    with opened() as page:
        page.locator("#cells-rows tbody tr").first.locator('a[href^="run-"]').click()
        assert page.locator(".verdict").first.is_visible()
        page.get_by_role("link", name="all results").click()
        assert page.locator("#cells-rows").is_visible()


def test_the_command_that_measures_a_row_again_opens_also_without_scripts(opened: Callable[..., Any]):
    with opened("model-resnet50.html", java_script_enabled=False) as page:
        command = page.locator("#cells-rows tbody tr").first.locator("details")
        command.locator("summary").click()
        assert command.locator("code").inner_text() == "irbench run resnet50"


def test_without_scripts_every_row_and_comparison_is_there(opened: Callable[..., Any]):
    with opened(java_script_enabled=False) as page:
        assert len(shown(page)) == 13
        assert page.locator("#compared-rows tbody tr:visible").count() == 8
        assert page.locator(".needs-script:visible").count() == 0


def test_only_verdicts_are_coloured(opened: Callable[..., Any]):
    with opened() as page:
        verdicts = page.locator("#compared-rows tbody tr[class]").all()
        assert {row.get_attribute("class") for row in verdicts} in ({"faster"}, {"slower"})
        assert len(verdicts) == 4
        assert page.locator("#cells-rows tbody tr[class]").count() == 0


def test_a_chosen_theme_stays_on_the_next_page(opened: Callable[..., Any]):
    colour = "getComputedStyle(document.body).backgroundColor"
    with opened(color_scheme="light") as page:
        before = page.evaluate(colour)
        page.locator("#theme").click()
        dark = page.evaluate(colour)
        page.locator('nav a[href="model-bert.html"]').click()
        assert page.evaluate(colour) == dark != before


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_page_is_wider_than_the_screen(width: int, opened: Callable[..., Any], site: Path):
    for file in (*site.glob("index.html"), *site.glob("model-*.html"), *site.glob("machine-*.html")):
        with opened(file.name, viewport={"width": width, "height": 900}) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= width, file.name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["index", "model-resnet50", "machine-*", "backend-ort", "run-*"])
def test_axe_finds_nothing(kind: str, scheme: str, opened: Callable[..., Any], site: Path):
    file = next(site.glob(f"{kind}.html"))
    with opened(file.name, color_scheme=scheme, bypass_csp=True) as page:
        assert violations(page) == []


def test_names_of_others_run_nothing(opened: Callable[..., Any], site: Path):
    for file in site.glob("model-*.html"):
        with opened(file.name) as page:
            assert page.locator("h1").is_visible()


def cut_tables(page: Any) -> list[str]:
    """Return the tables of which columns lie beyond the edge of what is shown."""
    cut: list[str] = page.locator(".scroll").evaluate_all(
        "all => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.querySelector('table').id)"
    )
    return cut


@pytest.mark.parametrize("width", [1280, 1920])
@pytest.mark.parametrize("name", ["index.html", "model-resnet50.html", "backend-ort.html"])
def test_no_column_is_cut(name: str, width: int, opened: Callable[..., Any]):
    with opened(name, viewport={"width": width, "height": 900}) as page:
        assert cut_tables(page) == []


def test_on_a_telephone_each_cell_of_the_matrix_stands_beside_its_heading(opened: Callable[..., Any]):
    with opened(viewport={"width": 390, "height": 900}) as page:
        assert "matrix-rows" not in cut_tables(page)
        row = page.locator("#matrix-rows tr", has_text="resnet50")
        heading = "cell => getComputedStyle(cell, '::before').content"
        shown = row.locator("td:visible").evaluate_all(f"cells => cells.map({heading})")
        assert {'"ort"', '"openvino"', '"machine"'} <= set(shown)
