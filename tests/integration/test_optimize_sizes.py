"""The sizes that ``irbench optimize`` binds, as its report tells them."""

from __future__ import annotations

from pathlib import Path

import models
import pytest
from front_door import irbench_here

from irbench.spec import Bundle

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("asked", "said", "by_default"),
    [
        (("--batch", "2"), "batch 2, length 9 (by default)", ["length"]),
        (("--shape", "tokens=1x7"), "batch 1, length 7", []),
    ],
)
def test_sizes_that_were_bound_are_told_with_those_that_nobody_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, str], said: str, by_default: list[str]
) -> None:
    artifact = models.two_inputs(tmp_path)
    bundle = Bundle("mixed", models.logical_inputs(artifact), (artifact,), defaults={"length": 9})
    monkeypatch.setattr("irbench.features.optimize.run.resolve_bundles", lambda *_, **_options: (bundle,))
    call = ("optimize", "mixed", "--level", "none", *asked)
    assert f"  fixed: {said}" in irbench_here(*call).out.splitlines()
    (graph,) = irbench_here(*call, "--format", "json").document["optimized"]
    assert graph["sizes_by_default"] == by_default


@pytest.mark.ci
def test_a_shape_goes_to_the_models_that_have_the_input_and_is_refused_where_none_has_it(tmp_path: Path) -> None:
    first, second = models.two_inputs(tmp_path).path, models.mlp(tmp_path).path
    call = ("optimize", first, second, "--level", "none", "--format", "json")
    called = irbench_here(*call, "--shape", "tokens=1x7")
    assert called.code == 0, called.err
    bound, free = called.document["optimized"]
    assert bound["sizes"] == {"batch": 1, "length": 7}
    assert free["sizes"] == {}  # nothing was asked of it
    refused = irbench_here(*call, "--shape", "pixel=1x3x8x8")
    assert refused.code == 2
    assert "No model has an input or a dynamic dimension called 'pixel'." in refused.err
    assert f"; pixels of {second.stem}." in refused.err
