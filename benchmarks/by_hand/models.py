"""The three models around their encoders: what comes before the first layer and behind the last one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx_ir as ir

from benchmarks.by_hand.encoder import Attention, Block, Hand, write_encoder
from benchmarks.by_hand.sheet import Sheet
from benchmarks.by_hand.weights import Norm, Weights
from irbench.spi import Array

Model = Callable[[ir.Graph, Weights, Sheet, Hand], tuple[ir.Value, ...]]
"""Writes a model into the graph that holds its export, and returns its outputs."""

_EPSILON, _BERT_EPSILON = 1e-6, 1e-12


def _transformer_base(graph: ir.Graph, weights: Weights, _: Sheet, hand: Hand) -> tuple[ir.Value, ...]:
    """Write the encoder of Vaswani et al., 2017, with GELU."""
    words = weights.table("embedding")
    (tokens,) = graph.inputs
    x = hand.embed([(tokens, words)], _sinusoids(_size(tokens, 1), words.shape[1]), None)
    norms = [weights.norm(f"{block}_norm{place}", _EPSILON) for block in _names(weights) for place in (1, 2)]
    return (write_encoder(hand, x, None, _blocks(weights, "projection", norms)),)


def _bert_mini(graph: ir.Graph, weights: Weights, sheet: Sheet, hand: Hand) -> tuple[ir.Value, ...]:
    """Write BERT (Devlin et al., 2019): normalisation behind each sum, a mask, a pooler."""
    tokens, kept, segments = graph.inputs
    length = _size(tokens, 1)
    tables = [(tokens, weights.table("words")), (segments, weights.table("kinds"))]
    x = hand.embed(tables, weights.table("positions")[:length], weights.norm("embeddings_norm", _BERT_EPSILON))
    blocks = _blocks(weights, "attention_output", _keras_norms(weights, _BERT_EPSILON))
    x = write_encoder(hand, x, None, blocks, hand.mask(kept, length))
    pooler = weights.dense("pooler")
    return x, sheet.node("Tanh", sheet.node("Gemm", _first(sheet, x), pooler.kernel, pooler.bias))


def _vit_tiny(graph: ir.Graph, weights: Weights, sheet: Sheet, hand: Hand) -> tuple[ir.Value, ...]:
    """Write ViT (Dosovitskiy et al., 2021): patches and a class token, normalisation before each part, a classifier."""
    patches, (image,) = weights.patches(), graph.inputs
    width, _, size, _ = patches.kernel.shape
    token = np.repeat(weights.table("class_token"), _size(image, 0), axis=0)
    grid = sheet.node("Conv", image, patches.kernel, patches.bias, strides=[size, size])
    rows = sheet.node("Transpose", sheet.node("Reshape", grid, np.array([0, width, -1])), perm=[0, 2, 1])
    x = sheet.node("Add", sheet.node("Concat", token, rows, axis=1), weights.table("positions"))
    first, *others = (*_keras_norms(weights, _EPSILON), weights.norm("norm", _EPSILON))
    x = write_encoder(hand, x, first, _blocks(weights, "attention_output", others))
    scores = weights.dense("predictions")
    return (sheet.node("Softmax", sheet.node("Gemm", _first(sheet, x), scores.kernel, scores.bias)),)


MODELS: Mapping[str, Model] = {"transformer_base": _transformer_base, "bert_mini": _bert_mini, "vit_tiny": _vit_tiny}
"""By the names that they have in the zoo."""


def _names(weights: Weights) -> list[str]:
    return [f"block{number + 1}" for number in range(weights.depth("block"))]


def _blocks(weights: Weights, output: str, norms: Sequence[Norm]) -> list[Block]:
    """Return the layers; each takes the next two of ``norms``."""
    pairs = zip(norms[::2], norms[1::2], strict=True)
    return [_block(weights, name, output, pair) for name, pair in zip(_names(weights), pairs, strict=True)]


def _block(weights: Weights, name: str, output: str, norms: tuple[Norm, Norm]) -> Block:
    query, key, value, joined = (
        weights.dense(f"{name}_attention/{part}") for part in ("query", "key", "value", output)
    )
    expand, contract = weights.dense(f"{name}_expand"), weights.dense(f"{name}_contract")
    return Block(Attention(query, key, value, joined), norms[0], expand, contract, norms[1])


def _keras_norms(weights: Weights, epsilon: float) -> list[Norm]:
    parts = ("attention_norm", "feed_forward_norm")
    return [weights.norm(f"{block}_{part}", epsilon) for block in _names(weights) for part in parts]


def _sinusoids(length: int, width: int) -> Array:
    """Return the positions of Vaswani et al., 2017, section 3.5, float32 (length, width)."""
    frequencies = np.power(10_000.0, -np.arange(0, width, 2) / width).astype(np.float32)
    angles = np.arange(length, dtype=np.float32)[:, None] * frequencies
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def _first(sheet: Sheet, x: ir.Value) -> ir.Value:
    """Return what stands at the first position, (batch, width)."""
    return sheet.node("Gather", x, np.array(0), axis=1)


def _size(value: ir.Value, axis: int) -> int:
    assert value.shape is not None
    size = value.shape[axis]
    assert isinstance(size, int), "bind the shapes first"
    return size
