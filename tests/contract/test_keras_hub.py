"""Every backbone of keras-hub in the zoo: at each level every runtime answers as the exported graph does.

``make zoo-keras-hub`` makes the table of them. Where keras-hub is not installed these are skipped;
``tests/unit/benchmarks/test_backbones.py`` checks everything but the models there.
"""

from __future__ import annotations

import re

import pytest
from front_door import irbench
from zoo_parts import skipped_without_its_parts

from benchmarks.backbones import PREFIX, names, visit
from irbench.errors import ExitCode
from irbench.exporter.identity import missing_distributions

ALWAYS = f"{PREFIX}bert"
LEAST = 40


def test_there_are_at_least_forty():
    assert len(names()) >= LEAST


@pytest.mark.skipif(not missing_distributions(ALWAYS), reason="keras-hub is installed")
@pytest.mark.parametrize("command", ["export", "run", "optimize"])
def test_without_keras_hub_a_command_says_how_to_install_it(command: str):
    done = irbench(command, ALWAYS)
    assert done.code == ExitCode.NOT_INSTALLED
    assert "keras_hub_bert is built with keras-hub, which is not installed" in done.err
    assert re.search(r"^hint: Install it: pip install '?keras-hub", done.err, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(name, marks=(*skipped_without_its_parts(name), *(() if name == ALWAYS else (pytest.mark.zoo,))))
        for name in names()
    ],
)
def test_every_runtime_answers_alike_at_every_level(model: str):
    backbone = visit(model)
    assert not backbone.failure
    assert not backbone.wrong
    assert backbone.nodes("extended") < backbone.nodes("none")
