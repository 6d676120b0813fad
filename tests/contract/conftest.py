"""Leaves checks that take most of a second to continuous integration: the classes in the package know no such mark."""

from __future__ import annotations

import pytest

SLOW = {
    "test_it_is_described_without_importing_its_runtime",
    "test_it_answers_what_a_reference_answers_and_fresh_inputs_change_that",
    "test_it_uses_no_more_processors_than_threads_were_asked_for",
}


def pytest_itemcollected(item: pytest.Item) -> None:
    if getattr(item, "originalname", None) in SLOW:
        item.add_marker(pytest.mark.ci)
