"""The exporter of irbench keeps the contract of all exporters."""

from __future__ import annotations

import pytest

from irbench.testing import ExporterContract


@pytest.mark.ci
class TestTensorFlow(ExporterContract):
    exporter = "tensorflow"
    source = "small_keras_model.py:build"


@pytest.mark.torch
@pytest.mark.slow
class TestTorch(ExporterContract):
    exporter = "torch"
    source = "../torch_modules.py:two_heads"
