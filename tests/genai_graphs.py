"""A small decoder with 4-bit weights and a cache, with the operators that onnxruntime-genai's builders write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
WIDTH, HEADS, CACHED_HEADS, HEAD, WORDS = 64, 4, 2, 16, 50
_BLOCK, _POSITIONS = 32, 64


class _Writer:
    def __init__(self) -> None:
        self.weights: list[TensorProto] = []
        self.nodes: list[NodeProto] = []
        self._random = np.random.default_rng(0)

    def weight(self, name: str, array: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: object) -> str:
        self.nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def project(self, source: str, name: str, width: int) -> str:
        """Multiply with weights of four bits."""
        blocks = WIDTH // _BLOCK
        packed = self._random.integers(0, 256, (width, blocks, _BLOCK // 2), dtype=np.uint8)
        scales = (self._random.random(width * blocks) * 0.02).astype(np.float32)
        inputs = [source, self.weight(f"{name}.packed", packed), self.weight(f"{name}.scales", scales)]
        sizes = {"K": WIDTH, "N": width, "bits": 4, "block_size": _BLOCK}
        return self.node("MatMulNBits", inputs, [name], MICROSOFT, **sizes)

    def lengths(self) -> None:
        """Compute what GroupQueryAttention wants to know of the mask."""
        one = self.weight("one", np.array([1]))
        self.node("ReduceSum", ["attention_mask", one], ["counted"], keepdims=0)
        self.node("Sub", ["counted", one], ["last"])
        self.node("Cast", ["last"], ["seqlens_k"], to=TensorProto.INT32)
        self.node("Shape", ["attention_mask"], ["sizes"])
        self.node("Gather", ["sizes", self.weight("second", np.array(1))], ["length"])
        self.node("Cast", ["length"], ["total"], to=TensorProto.INT32)

    def attend(self, normal: str) -> str:
        self.lengths()
        angles = np.outer(np.arange(_POSITIONS), 1 / 10000 ** (np.arange(HEAD // 2) / (HEAD // 2))).astype(np.float32)
        tables = [self.weight("cos", np.cos(angles)), self.weight("sin", np.sin(angles))]
        widths = {"q": HEADS * HEAD, "k": CACHED_HEADS * HEAD, "v": CACHED_HEADS * HEAD}
        projected = [self.project(normal, name, width) for name, width in widths.items()]
        past = [f"past_key_values.0.{name}" for name in ("key", "value")]
        present = [f"present.0.{name}" for name in ("key", "value")]
        return self.node(
            "GroupQueryAttention",
            [*projected, *past, "seqlens_k", "total", *tables],
            ["attended", *present],
            MICROSOFT,
            num_heads=HEADS,
            kv_num_heads=CACHED_HEADS,
            do_rotary=1,
        )


def write_decoder(path: Path) -> None:
    """Write one layer; its first normalisation is in ONNX's own domain, as those builders have it."""
    writer = _Writer()
    scale = writer.weight("scale", np.ones(WIDTH, np.float32))
    table = np.random.default_rng(1).standard_normal((WORDS, WIDTH)).astype(np.float32)
    words = writer.node("Gather", [writer.weight("words", table), "input_ids"], ["embedded"])
    normal = writer.node("SimplifiedLayerNormalization", [words, scale], ["normal"], axis=-1, epsilon=1e-5)
    output = writer.project(writer.attend(normal), "o", WIDTH)
    skipped = writer.node("SkipSimplifiedLayerNormalization", [words, output, scale], ["skipped"], MICROSOFT)
    writer.node("Identity", [writer.project(skipped, "head", WORDS)], ["logits"])

    def value(name: str, dtype: int, *shape: int | str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, dtype, shape)

    def cache(prefix: str, length: str) -> list[onnx.ValueInfoProto]:
        shape = ("batch_size", CACHED_HEADS, length, HEAD)
        return [value(f"{prefix}.0.{name}", TensorProto.FLOAT, *shape) for name in ("key", "value")]

    tokens = value("input_ids", TensorProto.INT64, "batch_size", "sequence_length")
    mask = value("attention_mask", TensorProto.INT64, "batch_size", "total_sequence_length")
    logits = value("logits", TensorProto.FLOAT, "batch_size", "sequence_length", WORDS)
    graph = helper.make_graph(
        writer.nodes,
        "decoder",
        [tokens, mask, *cache("past_key_values", "past_sequence_length")],
        [logits, *cache("present", "total_sequence_length")],
        writer.weights,
    )
    imports = [helper.make_opsetid("", 14), helper.make_opsetid(MICROSOFT, 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=7), path)
