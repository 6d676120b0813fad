"""A mistyped name is answered with what it was meant to be, or with nothing."""

from __future__ import annotations

import pytest

from irbench.core.suggestions import did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "meant"),
    [("opnvino", "openvino"), ("ROT", "ort"), ("tvm", None), ("tf-xal", "tf-xla"), ("OpenVino", "openvino")],
)
def test_the_nearest_name_is_found_whatever_its_case(name: str, meant: str | None):
    assert nearest(name, ("openvino", "ort", "tf-xla")) == meant


def test_a_name_with_capitals_is_suggested_as_it_is_written():
    assert did_you_mean("performance_hnt", ["PERFORMANCE_HINT"]) == "Did you mean PERFORMANCE_HINT? "


def test_nothing_is_suggested_where_nothing_is_near():
    assert did_you_mean("xyz", ["resnet50", "vgg16"]) == ""
