"""docs/optimizing.md describes the passes that there are, in the levels that they are in."""

from __future__ import annotations

import re
from pathlib import Path

from irbench.core import registry
from irbench.optimizer import LEVELS

TEXT = (Path(__file__).parents[2] / "docs" / "optimizing.md").read_text()


def test_each_pass_is_described_as_it_is_and_stands_in_its_levels():
    described = re.findall(
        r"^\| `(\w+)` \| (.*) \| (.*) \|$", TEXT.partition("| pass | what it does |")[2], re.MULTILINE
    )
    assert described == [
        (name, registry.graph_pass(name).summary, ", ".join(level for level, those in LEVELS.items() if name in those))
        for name in dict.fromkeys(LEVELS["all"])
    ]


def test_each_pass_of_irbench_is_in_a_level_or_is_what_one_of_them_decides_about():
    own = {name for name in registry.names(registry.PASSES) if not name.startswith("fake-")}
    splits = {"split_packed", "split_grouped_heads"}
    assert own == set(LEVELS["all"]) | splits
    assert all(f"`{name}`" in TEXT for name in splits)
