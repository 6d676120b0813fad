"""The values of a converted graph that do not fit into fp16 are named, with how large they are in fp32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx_ir
import pytest
from onnx import numpy_helper

from irbench.core import registry
from irbench.core.feeds import write_sample
from irbench.core.graph_record import NarrowRange, ValueRange
from irbench.exporter.foreign import from_onnx_file
from irbench.notices.conversions import beyond_text
from irbench.optimizer.calibration_samples import CALIBRATION, CheckSamples
from irbench.optimizer.narrow_range import narrow_range
from irbench.optimizer.narrowing import narrow
from irbench.spec import Feeding

GRAPH = """<ir_version: 10, opset_import: ["" : 20]> g (float[batch,4] x) => (float[batch,4] y, float[batch,4] z)
    <float up = {50000}, float down = {0.00001}, float[4] masks = {0, 0, 0, 0}> {
    large = Mul(x, up)  masked = Add(large, masks)  back = Div(masked, up)  small = Mul(back, down)
    y = Neg(small)  z = Neg(back)
}"""


def found(folder: Path, sample: np.ndarray | None = None, mask: float = 0.0) -> NarrowRange | None:
    model = onnx.parser.parse_model(GRAPH)
    (masks,) = [tensor for tensor in model.graph.initializer if tensor.name == "masks"]
    masks.CopyFrom(numpy_helper.from_array(np.array([0, 0, 0, mask], np.float32), "masks"))
    onnx.save(model, folder / "g.onnx")
    bundle = from_onnx_file(folder / "g.onnx")
    feeding = Feeding()
    if sample is not None:
        write_sample(folder / "0.npz", bundle.inputs, {"x": sample})
        feeding = Feeding(samples=(folder / "0.npz",))
    sizes = {"batch": 2 if sample is None else len(sample)}
    samples = CheckSamples(bundle.artifacts[0], bundle, sizes, 16, CALIBRATION, feeding)
    converted = onnx_ir.load(folder / "g.onnx")
    narrow(converted, "fp16")
    return narrow_range(folder / "g.onnx", converted, samples, "ort", folder)


def test_values_beyond_the_range_and_below_its_normal_numbers_are_named_with_their_largest(tmp_path: Path) -> None:
    fits = found(tmp_path, np.array([[1, 2, -3, 0.5]], np.float32))
    assert fits is not None
    assert (fits.samples, fits.values, fits.beyond, fits.vanishing) == (1, 7, 2, 2)
    assert {value.name for value in fits.largest} == {"large", "masked"}
    assert {value.name for value in fits.smallest} == {"small", "y"}
    assert [value.largest for value in fits.largest] == pytest.approx([150_000] * 2)
    assert [value.largest for value in fits.smallest] == pytest.approx([3e-5] * 2)


def test_infinite_numbers_of_masks_do_not_count_and_zeros_are_not_small(tmp_path: Path) -> None:
    fits = found(tmp_path, np.zeros((1, 4), np.float32), mask=-np.inf)
    assert fits is not None
    assert (fits.beyond, fits.vanishing) == (0, 0)


def test_generated_inputs_of_every_batch_count(tmp_path: Path) -> None:
    fits = found(tmp_path)
    assert fits is not None
    assert fits.samples == 16
    assert fits.beyond == 0, "numbers below one times 50000 fit"


class RefusingBackend:
    def load(self, *_: object) -> object:
        raise RuntimeError("no kernel for IsInf")


def test_a_reference_that_cannot_find_the_ranges_leaves_them_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "reference", lambda _: RefusingBackend())
    assert found(tmp_path) is None


def test_the_first_are_named_and_the_others_counted() -> None:
    fits = NarrowRange(4, 30, 7, 0, tuple(ValueRange(f"h{place}", 7e4) for place in range(5)))
    assert "7 of 30 values" in beyond_text(fits)
    assert beyond_text(fits).endswith("h4 7e+04 and 2 more)")
