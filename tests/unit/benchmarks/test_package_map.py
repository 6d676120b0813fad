"""The map in CONTRIBUTING.md is made of the packages' docstrings."""

from __future__ import annotations

from benchmarks.package_map import DOCUMENT, package_map, with_map


def test_the_map_shows_the_packages_as_they_are():
    document = DOCUMENT.read_text()
    assert with_map(document, package_map()) == document, "write it anew: make generated"


def test_a_folder_is_a_line_and_the_text_around_the_map_stays():
    assert "| `irbench/features/soak/` |" in package_map()
    assert with_map("a\n<!-- map -->\nold\n<!-- end of the map -->\nz", "new") == (
        "a\n<!-- map -->\n\nnew\n\n<!-- end of the map -->\nz"
    )
