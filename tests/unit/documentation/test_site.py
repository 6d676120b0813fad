"""The navigation holds every page once, and the folder that the site is made of what pages link to."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from documentation.site import ROOT, fill, linked_files, listed, pages, problems_in, settings, with_comments_above


def test_the_navigation_holds_every_page_once():
    named = Counter(listed(settings()["project"]["nav"]))
    assert set(named) == {str(page.relative_to(ROOT)) for page in pages()}, "documentation/zensical.toml has them"
    assert max(named.values()) == 1


def test_the_navigation_begins_with_installing():
    assert settings()["project"]["nav"][0] == {"Install": "docs/installing.md"}


def test_a_comment_that_a_window_would_cut_off_stands_above_its_command():
    short = "    irbench run model.onnx    # measure"
    assert with_comments_above(short) == short
    long = f"    irbench run model.onnx    # {'words ' * 20}"
    *comments, command = with_comments_above(long).splitlines()
    assert command == "    irbench run model.onnx"
    assert all(line.startswith("    # words") for line in comments)


def test_no_command_of_a_page_has_a_comment_that_is_cut_off(tmp_path: Path, subtests: pytest.Subtests):
    fill(tmp_path / "source")
    for page in pages():
        text = (tmp_path / "source" / page.relative_to(ROOT)).read_text()
        for line in re.findall(r"^    ((?:irbench|make) .*) # .*$", text, re.MULTILINE):
            with subtests.test(page=page.name, line=line):
                assert len(line) <= 80


def test_the_readme_of_a_folder_comes_first():
    named = list(listed(settings()["project"]["nav"]))
    decisions = [name for name in named if name.startswith("docs/adr/")]
    assert decisions[:2] == ["docs/adr/README.md", "docs/adr/0001-dependencies.md"]
    assert decisions == sorted(decisions, key=lambda name: (not name.endswith("README.md"), name))


def test_what_pages_link_to_is_there_at_the_same_relative_place(tmp_path: Path):
    fill(tmp_path / "source")
    for path in (
        "README.md",
        "docs/protocol.md",
        "docs/pictures/speedups.svg",
        "irbench/store/run.schema.json",
        "assets/site.css",
    ):
        assert (tmp_path / "source" / path).is_file()


def test_links_of_a_page_are_files_of_the_repository(tmp_path: Path):
    page = ROOT / "docs" / "adr" / "README.md"
    assert ROOT / "docs" / "adr" / "0001-dependencies.md" in set(linked_files(page))
    assert all(path.is_file() for path in linked_files(page))


def test_no_page_links_to_a_folder(subtests: pytest.Subtests):
    for page in pages():
        with subtests.test(page=str(page.relative_to(ROOT))):
            targets = re.findall(r"\]\(([^)\s#:]+)[^)]*\)", page.read_text())
            assert [target for target in targets if (page.parent / target).is_dir()] == []


TRACEBACK = "Traceback (most recent call last):\n  File a.py, line 1\nRuntimeError: broken\n"


@pytest.mark.parametrize(
    ("errors", "shown"),
    [
        ("", ""),
        ("Warning: b.md: no such file\n", "Warning: b.md: no such file\n"),
        (f"Warning: b.md: no such file\n{TRACEBACK}", "Warning: b.md: no such file\n"),
        (TRACEBACK, "RuntimeError: broken\n"),
    ],
)
def test_the_traceback_of_the_generator_is_left_out_unless_it_is_all_that_there_is(errors: str, shown: str):
    assert problems_in(errors) == shown
