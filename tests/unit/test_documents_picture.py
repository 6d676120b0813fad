"""The picture in the README shows what irbench prints."""

from __future__ import annotations

from pathlib import Path

from benchmarks.picture import picture

DOCS = Path(__file__).parents[2] / "docs"


def test_the_picture_is_made_from_the_stored_run_and_the_texts_in_force():
    assert (DOCS / "demo.svg").read_text(encoding="utf-8") == picture(), "run make picture"


def test_the_picture_shows_the_whole_table():
    shown = (DOCS / "demo.svg").read_text(encoding="utf-8").replace("&#160;", " ")
    for word in ("$ irbench run resnet50", "is fastest", "openvino", "ort", "tf-xla", "1 baseline"):
        assert word in shown
