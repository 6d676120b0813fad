"""Quantising graphs to int8 with ONNX Runtime's own tool, which writes operators that other runtimes read too."""

from __future__ import annotations

from pathlib import Path

from irbench.spi import Description, QuantizationMethod, QuantizationRequest, Quantizer
from irbench_ort.adapter import OrtBackend

__all__ = ["quantizer"]


class _OrtQuantizer:
    name = "ort"

    def describe(self) -> Description:
        """Say which distribution of ONNX Runtime is installed; its tool is a part of it."""
        return OrtBackend().describe()

    def suitable_method(self, source: Path) -> QuantizationMethod | None:
        from irbench_ort.quantization.tool import suitable_method

        return suitable_method(source)

    def quantize(self, request: QuantizationRequest) -> None:
        from irbench_ort.quantization.tool import quantize_dynamic, quantize_static

        if request.method == "dynamic":
            quantize_dynamic(request.source, request.target, request.weight_bits)
        else:
            quantize_static(request.source, request.target, request.calibration, request.weight_bits)


quantizer: Quantizer = _OrtQuantizer()
"""What entry point ``ort`` of ``irbench.quantizers`` names."""
