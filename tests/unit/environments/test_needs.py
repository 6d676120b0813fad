"""What an environment needs besides its runtime."""

from __future__ import annotations

from importlib import metadata

import pytest

from irbench.environments.inspection import is_older, name_of, pinned_requirements, worker_requirements


def test_workers_need_arrays_and_graphs_and_no_more_in_the_versions_that_irbench_requires() -> None:
    assert set(worker_requirements()) == {"numpy", "onnx"}
    assert worker_requirements()["numpy"].startswith("numpy>=")


def test_versions_are_pinned_to_those_of_irbench_but_for_the_runtime_itself() -> None:
    pinned = pinned_requirements("onnx")
    assert f"numpy=={metadata.version('numpy')}" in pinned
    assert not [requirement for requirement in pinned if requirement.startswith("onnx==")]


@pytest.mark.parametrize(
    ("version", "requirement", "older"),
    [
        ("1.26.4", "numpy>=2.1", True),
        ("2.1", "numpy>=2.1", False),
        ("2.10.0", "numpy>=2.9", False),
        ("2.1.0rc1", "numpy>=2.1", False),
        ("1.0", "numpy", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, requirement: str, older: bool) -> None:
    assert is_older(version, requirement) is older


def test_a_requirement_names_its_distribution() -> None:
    assert name_of(" Some_Thing.else >=1") == "some-thing-else"
