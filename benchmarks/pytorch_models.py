"""Models of transformers with random weights, with inputs as their users give them: six sources for ``irbench run``.

Two of them also as rows of their own, which call the module without irbench: what the backends ``torch`` and
``torch-compile`` are compared with. Runs in the environment of ``requirements-torch.lock``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import transformers

from irbench import CellContext

Source = tuple[Any, Mapping[str, Any], Mapping[str, Mapping[int, str]]]

_LENGTH = 128
_SMALL = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
_TINY = {"hidden_size": 192, "num_hidden_layers": 12, "num_attention_heads": 3, "intermediate_size": 768}


def resnet50() -> Source:
    """Return a residual CNN on images of 224 x 224."""
    return _of_images(transformers.ResNetForImageClassification(transformers.ResNetConfig()))


def mobilenet_v2() -> Source:
    """Return a CNN of depthwise convolutions."""
    return _of_images(transformers.MobileNetV2ForImageClassification(transformers.MobileNetV2Config()))


def convnext_tiny() -> Source:
    """Return a CNN of large depthwise convolutions and layer normalisation."""
    return _of_images(transformers.ConvNextForImageClassification(transformers.ConvNextConfig()))


def vit_tiny() -> Source:
    """Return a Vision Transformer of 5.7 million weights."""
    return _of_images(transformers.ViTForImageClassification(transformers.ViTConfig(**_TINY)))


def bert_mini() -> Source:
    """Return an encoder of texts, on 128 tokens."""
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**_SMALL))
    return model, _texts(model), _sequences("input_ids", "attention_mask")


def llama_mini() -> Source:
    """Return a decoder that reads 128 tokens, without a cache."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=2, use_cache=False, **_SMALL))
    return model, _texts(model), _sequences("input_ids", "attention_mask")


def bare_resnet50(cell: CellContext) -> Callable[[Mapping[str, Any]], Any]:
    """Return what calls the module as a script does."""
    return _bare(resnet50, cell)


def bare_bert_mini(cell: CellContext) -> Callable[[Mapping[str, Any]], Any]:
    """Return what calls the module as a script does."""
    return _bare(bert_mini, cell)


def bare_compiled_resnet50(cell: CellContext) -> Callable[[Mapping[str, Any]], Any]:
    """Return what calls the compiled module as a script does."""
    return _bare(resnet50, cell, compiled=True)


def bare_compiled_bert_mini(cell: CellContext) -> Callable[[Mapping[str, Any]], Any]:
    """Return what calls the compiled module as a script does."""
    return _bare(bert_mini, cell, compiled=True)


def _of_images(model: Any) -> Source:
    return model, {"pixel_values": torch.rand(1, 3, 224, 224)}, {}


def _texts(model: Any) -> Mapping[str, Any]:
    ids = torch.randint(0, model.config.vocab_size, (1, _LENGTH))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def _sequences(*names: str) -> Mapping[str, Mapping[int, str]]:
    return {name: {1: "sequence_length"} for name in names}


def _bare(
    make: Callable[[], Source], cell: CellContext, *, compiled: bool = False
) -> Callable[[Mapping[str, Any]], Any]:
    if cell.threads is not None:
        torch.set_num_threads(cell.threads)
    torch.manual_seed(0)  # as the export was made
    module = make()[0].eval()
    called = torch.compile(module, dynamic=False) if compiled else module

    def call(inputs: Mapping[str, Any]) -> Any:
        with torch.inference_mode():
            return called(**{name: torch.from_numpy(array) for name, array in inputs.items()}).logits.numpy()

    return call
