"""What is compared: models, exporters, and what makes a graph of an exported one. Imports no framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Exporter = Literal["dynamo", "torchscript"]
EXPORTERS: tuple[Exporter, ...] = ("dynamo", "torchscript")
EXPORTED = "exported"
"""The graph as PyTorch wrote it."""
OWN = ("irbench basic", "irbench extended")
OTHERS = (
    "onnxslim",
    "onnxscript",
    "onnxscript ort_fusions",
    "ORT basic",
    "ORT extended",
    "ORT all",
    "ORT transformers",
)
"""Other optimisers; :mod:`benchmarks.optimizers.others` calls them."""
OPTIMIZERS = (*OTHERS, *OWN)

_IMAGE = {"batch": 1}
_TEXT = {"batch": 1, "sequence": 64}
_STEP = {"batch": 1, "sequence": 1, "past": 63, "total": 64}


@dataclass(frozen=True)
class Subject:
    """A model.

    Attributes:
        name: Its name here; :mod:`benchmarks.optimizers.models` builds it.
        sizes: Of its dynamic dimensions, in checks and measurements.
        transformers_type: What ``onnxruntime.transformers`` calls its kind; empty where that optimiser knows none.
        dimensions: Heads and width of its attention, which that optimiser is told; zeros let it find them.
    """

    name: str
    sizes: Mapping[str, int] = field(default_factory=lambda: _IMAGE)
    transformers_type: str = ""
    dimensions: tuple[int, int] = (0, 0)

    @property
    def optimizers(self) -> tuple[str, ...]:
        """Those that take it."""
        return tuple(name for name in OPTIMIZERS if name != "ORT transformers" or self.transformers_type)


SUBJECTS = (
    Subject("resnet50"),
    Subject("mobilenet_v3_small"),
    Subject("efficientnet_b0"),
    Subject("regnet_y_400mf"),
    Subject("densenet121"),
    Subject("convnext_tiny"),
    Subject("vit_b_16", transformers_type="vit", dimensions=(12, 768)),
    Subject("swin_t", transformers_type="swin"),
    Subject("clip_vision", transformers_type="clip", dimensions=(4, 256)),
    Subject("bert", _TEXT, "bert", (4, 256)),
    Subject("roberta", _TEXT, "bert", (4, 256)),
    Subject("distilbert", _TEXT, "bert", (4, 256)),
    Subject("albert", _TEXT, "bert", (4, 256)),
    Subject("deberta_v2", _TEXT, "bert", (4, 256)),
    Subject("t5_encoder", _TEXT, "t5", (4, 256)),
    Subject("bart_encoder", _TEXT, "bart", (4, 256)),
    Subject("gpt2", _TEXT, "gpt2", (4, 256)),
    Subject("gpt2_past", _STEP, "gpt2", (4, 256)),
    Subject("llama", _TEXT, "gpt2", (4, 256)),
    Subject("llama_past", _STEP, "gpt2", (4, 256)),
    Subject("mistral", _TEXT, "gpt2", (4, 256)),
    Subject("qwen2_past", _STEP, "gpt2", (4, 256)),
    Subject("whisper_encoder", transformers_type="bart", dimensions=(4, 256)),
    Subject("wav2vec2", {"batch": 1, "samples": 16000}, "bert", (4, 256)),
)
