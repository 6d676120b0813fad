"""The reference is made of declarations, and every feature has a page that its help names."""

from __future__ import annotations

from pathlib import Path

import pytest
from front_door import irbench

from documentation.commands import INDEX, page_of
from documentation.markdown import code, prose, quoted, with_part
from documentation.python_api import python_page
from documentation.write import generated_pages
from irbench import features
from irbench.cli import declared_commands

ROOT = Path(__file__).parents[3]


def test_the_pages_in_the_repository_are_what_the_declarations_make(subtests: pytest.Subtests):
    for path, text in generated_pages().items():
        with subtests.test(path=str(path)):
            assert (ROOT / path).read_text() == text, "write it again: make generated"


def test_classes_are_described_with_what_they_inherit():
    """``to_text`` and ``plot`` are those of bases that users never name."""
    page = python_page()
    for member in ("Tuning.to_text", "Tuning.plot", "Tuning.page_result", "RunHistory.to_text"):
        assert page.count(f"#### {member}\n") == 1


def test_no_page_of_a_command_is_left_from_one_that_is_gone():
    pages = {path.relative_to(ROOT) for path in (ROOT / INDEX).parent.glob("*.md")}
    assert pages == {INDEX, *map(page_of, declared_commands())}


def test_every_feature_has_a_page(subtests: pytest.Subtests):
    pages = dict(features.declared("PAGE"))
    folders = {path.parent.name for path in (ROOT / "irbench" / "features").glob("*/__init__.py")}
    assert {package.rpartition(".")[2] for package in pages} == folders
    for package, page in pages.items():
        with subtests.test(feature=package):
            lines = (ROOT / page).read_text().splitlines()
            assert lines[0].startswith("# ")
            assert len(lines) > 10


def test_the_help_of_a_command_ends_with_the_page_of_its_feature(subtests: pytest.Subtests):
    pages = dict(features.declared("PAGE"))
    for command, (module, _) in declared_commands().items():
        with subtests.test(command=command):
            assert irbench(command, "--help").out.split()[-1] == pages[module.rpartition(".")[0]]


def test_words_of_a_help_text_are_markdown_that_shows_them_as_they_are():
    assert prose("see --seed, a_b and <x> [default: 1|2]") == r"see `--seed`, a\_b and &lt;x> \[default: 1\|2]"
    assert prose("`irbench run --all`, or --all") == "`irbench run --all`, or `--all`"
    assert quoted("with\n  --all") == "with --all"


def test_code_in_a_table_may_hold_a_bar():
    assert code("--since 90s|<m>") == "<code>--since 90s&#124;&lt;m&gt;</code>"
    assert code("--all") == "`--all`"


def test_a_part_is_written_again_and_the_text_around_it_stays():
    document = "a\n<!-- codes: written by make generated -->\nold\n<!-- end of codes -->\nz"
    written = with_part(document, "codes", "new")
    assert "old" not in written
    assert written.startswith("a\n<!-- codes")
    assert written.endswith("<!-- end of codes -->\nz")
    assert with_part(written, "codes", "new") == written
    with pytest.raises(ValueError, match="no part others"):
        with_part(document, "others", "new")
