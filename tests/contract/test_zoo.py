"""Every model of the zoo, exported and answered rightly by every backend that is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from irbench import bundles, registry
from irbench.export import ExportOptions, export
from irbench.feeds import POOL, repeat_pool
from irbench.spec import Load
from irbench.verify import compare, judge
from irbench.worker import call_in_worker

DEADLINE_S = 300
BATCH = 2
REAL = [name for name in registry.names(registry.BACKENDS) if not name.startswith("fake-")]


@pytest.mark.slow
@pytest.mark.parametrize("model", registry.names(registry.MODELS))
def test_every_backend_answers_a_zoo_model_as_tensorflow_did_at_export(model: str, tmp_path: Path):
    folder = export(model, ExportOptions(output=tmp_path / "bundle"), lambda _line: None)
    bundle = bundles.load(folder)
    expected = bundles.reference_outputs(bundle)
    assert expected is not None
    assert all(len(one) == POOL for one in expected)
    wanted = repeat_pool(expected, BATCH)
    problems: dict[str, Any] = {}
    for name in REAL:
        if registry.backend(name).describe().version is None:
            continue
        answer, precision = call_in_worker(
            "contract_checks:zoo_answer", name, folder, Load(batch=BATCH, threads=2), tmp_path, deadline_s=DEADLINE_S
        )
        failure = judge(compare(answer, wanted, bundle.classifier), precision)
        if failure is not None or precision != "fp32":
            problems[name] = failure or precision
    assert not problems
