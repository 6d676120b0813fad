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
    monkeypatch.setattr("irbench.api.optimize.resolve_bundles", lambda *_, **_options: (bundle,))
    call = ("optimize", "mixed", "--level", "none", *asked)
    assert f"  fixed: {said}" in irbench_here(*call).out.splitlines()
    (graph,) = irbench_here(*call, "--format", "json").document["optimized"]
    assert graph["sizes_by_default"] == by_default
