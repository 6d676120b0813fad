"""The map in CONTRIBUTING.md is made of the packages' docstrings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from benchmarks.package_map import DOCUMENT, ROOT, package_map, with_map


def test_the_map_shows_the_packages_as_they_are():
    document = DOCUMENT.read_text()
    assert with_map(document, package_map()) == document, "write it again: make generated"


def test_a_folder_is_a_line_and_the_text_around_the_map_stays():
    assert "| `irbench/features/soak/` |" in package_map()
    assert with_map("a\n<!-- map -->\nold\n<!-- end of the map -->\nz", "new") == (
        "a\n<!-- map -->\n\nnew\n\n<!-- end of the map -->\nz"
    )


_FEATURES = sorted(path.parent for path in (ROOT / "irbench/features").glob("*/__init__.py"))


@pytest.mark.parametrize("feature", _FEATURES, ids=lambda path: path.name)
def test_a_feature_says_in_a_few_sentences_what_it_does_and_names_pages_that_are_there(feature: Path):
    summary, _, details = str(ast.get_docstring(ast.parse((feature / "__init__.py").read_text()))).partition("\n\n")
    pages = re.findall(r"docs/[\w-]+\.md", details)
    assert "\n" not in summary
    assert details
    assert all((ROOT / page).is_file() for page in pages)
