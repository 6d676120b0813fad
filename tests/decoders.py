"""Small decoders with a cache, as exporters write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VOCABULARY = 97
WIDTH = 16


def write_decoder(
    path: Path,
    *,
    layers: int = 2,
    mask: bool = True,
    named: bool = True,
    width: int = WIDTH,
    first: bool = False,
    encoded: bool = False,
    positions: int = 0,
) -> Path:
    """Write a decoder of one attention head a layer, whose caches grow along their third axis.

    Args:
        path: The file.
        layers: How many layers.
        mask: Whether it takes an attention mask.
        named: Whether outputs are called after the inputs that they become.
        width: Of each token.
        first: Whether it reads the prompt of a single sample, and takes no caches.
        positions: Rows of its table of learned positions, which ``position_ids`` reads; 0 for no such table.
        encoded: Whether a cache is computed from what an encoder answered: taken, or with ``first`` given.
    """
    draw = np.random.default_rng(0)
    weights = {"table": draw.normal(size=(VOCABULARY, width)).astype(np.float32)}
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["x0"])]
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "tokens", VOCABULARY])]
    if mask:
        length = "tokens" if first else "past + tokens"
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", length]))
    if positions:
        weights["places"] = draw.normal(size=(positions, width)).astype(np.float32)
        inputs.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch", "tokens"]))
        nodes[0].output[0] = "word"
        nodes += [
            helper.make_node("Gather", ["places", "position_ids"], ["place"]),
            helper.make_node("Add", ["word", "place"], ["x0"]),
        ]
    if encoded:
        nodes[0].output[0] = "embedded"
        nodes += _with_encoded(inputs, outputs, weights, width, first=first)
    for layer in range(layers):
        names = {}
        for kind in ("key", "value"):
            past = f"past_key_values.{layer}.{kind}"
            names[kind] = f"present.{layer}.{kind}" if named else f"out{layer}_{'kv'.index(kind[0])}"
            if first:
                weights[past] = np.zeros((1, 1, 0, width), np.float32)
            else:
                inputs.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, ["batch", 1, "past", width]))
            shape = ["batch", 1, "tokens" if first else "past + tokens", width]
            outputs.append(helper.make_tensor_value_info(names[kind], TensorProto.FLOAT, shape))
        nodes += _layer(layer, names, weights, draw, width, mask=mask)
    weights["scores"] = weights["table"].T.copy()
    nodes.append(helper.make_node("MatMul", [f"x{layers}", "scores"], ["logits"]))
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def _with_encoded(
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    weights: dict[str, np.ndarray],
    width: int,
    *,
    first: bool,
) -> list[onnx.NodeProto]:
    """Add the mean of what an encoder answered to each token, by way of a cache that only the first call computes."""
    node = helper.make_node
    weights |= {"encoded_axis": np.array([1]), "mix": np.linspace(-1, 1, width * width, dtype=np.float32)}
    weights["mix"] = weights["mix"].reshape(width, width)
    cached = "present.0.encoder.key" if first else "past_key_values.0.encoder.key"
    value = helper.make_tensor_value_info(cached, TensorProto.FLOAT, ["batch", 1, "encoded", width])
    made = []
    if first:
        shape = ["batch", "encoded", width]
        inputs.append(helper.make_tensor_value_info("encoder_hidden_states", TensorProto.FLOAT, shape))
        outputs.append(value)
        made = [
            node("MatMul", ["encoder_hidden_states", "mix"], ["mixed_in"]),
            node("Unsqueeze", ["mixed_in", "encoded_axis"], [cached]),
        ]
    else:
        inputs.append(value)
    return [
        *made,
        node("ReduceMean", [cached], ["means"], axes=[2], keepdims=1),
        node("Squeeze", ["means", "encoded_axis"], ["mean"]),
        node("Add", ["embedded", "mean"], ["x0"]),
    ]


def write_pair(folder: Path) -> Path:
    """Write a decoder in two files, as Optimum does, and return the one that takes its cache."""
    write_decoder(folder / "decoder_model.onnx", first=True)
    return write_decoder(folder / "decoder_with_past_model.onnx")


def write_encoder_and_decoder(folder: Path, width: int = WIDTH) -> Path:
    """Write an encoder and a decoder in two files, as Optimum does, and return the one that takes its cache."""
    write_decoder(folder / "decoder_model.onnx", mask=False, first=True, encoded=True)
    table = np.random.default_rng(1).normal(size=(VOCABULARY, width)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "encoder",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "encoded"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "encoded", width])],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "encoder_model.onnx")
    return write_decoder(folder / "decoder_with_past_model.onnx", mask=False, encoded=True)


def _layer(
    layer: int,
    names: dict[str, str],
    weights: dict[str, np.ndarray],
    draw: np.random.Generator,
    width: int,
    *,
    mask: bool,
) -> list[onnx.NodeProto]:
    def name(suffix: str) -> str:
        return f"l{layer}_{suffix}"

    node = helper.make_node
    for kind in ("query", "key", "value"):
        weights[name(kind)] = (draw.normal(size=(width, width)) / np.sqrt(width)).astype(np.float32)
    weights |= {
        name("axis"): np.array([1]), name("scale"): np.array(1 / np.sqrt(width), np.float32),
        name("low"): np.array(-1e9, np.float32), name("one"): np.array([1], np.int64), name("two"): np.array([2]),
    }  # fmt: skip
    x = f"x{layer}"
    nodes = []
    for kind in ("query", "key", "value"):
        nodes += [
            node("MatMul", [x, name(kind)], [name(f"flat_{kind}")]),
            node("Unsqueeze", [name(f"flat_{kind}"), name("axis")], [name(f"new_{kind}")]),
        ]
    nodes += [
        node("Concat", [f"past_key_values.{layer}.{kind}", name(f"new_{kind}")], [names[kind]], axis=2)
        for kind in ("key", "value")
    ]
    nodes += [
        node("Transpose", [names["key"]], [name("turned")], perm=[0, 1, 3, 2]),
        node("MatMul", [name("new_query"), name("turned")], [name("dots")]),
        node("Mul", [name("dots"), name("scale")], [name("scaled")]),
        node("Shape", [name("scaled")], [name("queries")], start=2, end=3),
        node("Shape", [name("scaled")], [name("shape")], start=2, end=4),
        node("Shape", [name("scaled")], [name("keys")], start=3, end=4),
        node("ConstantOfShape", [name("shape")], [name("ones")],
            value=helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0])),
        node("Sub", [name("keys"), name("queries")], [name("offsets")]),
        node("Squeeze", [name("offsets")], [name("offset")]),
        node("Trilu", [name("ones"), name("offset")], [name("lower")], upper=0),
        node("Cast", [name("lower")], [name("allowed")], to=TensorProto.BOOL),
        node("Where", [name("allowed"), name("scaled"), name("low")], [name("causal")]),
    ]  # fmt: skip
    scores = name("causal")
    if mask:
        weights[name("axes")] = np.array([1, 2])
        nodes += [
            node("Unsqueeze", ["attention_mask", name("axes")], [name("wide_mask")]),
            node("Cast", [name("wide_mask")], [name("kept")], to=TensorProto.BOOL),
            node("Where", [name("kept"), scores, name("low")], [name("masked")]),
        ]
        scores = name("masked")
    return [
        *nodes,
        node("Softmax", [scores], [name("shares")], axis=-1),
        node("MatMul", [name("shares"), names["value"]], [name("mixed")]),
        node("Squeeze", [name("mixed"), name("axis")], [name("joined")]),
        node("Add", [x, name("joined")], [f"x{layer + 1}"]),
    ]


def write_attention_decoder(path: Path, mask: str = "float", *, reads_cache: bool = False, kv_heads: int = 1) -> Path:
    """Write a decoder of ONNX's own attention with a cache: two heads for queries, rows of 8 values a head.

    Args:
        path: The file.
        mask: Of earlier tokens: ``float`` or ``bool`` numbers, ``attribute`` (``is_causal``), or none of them: with
            ``open`` every token attends to all that the call is given.
        reads_cache: Whether something besides attention reads the cached keys.
        kv_heads: How many heads keys and values have.
    """
    width, heads, head = 16, 2, 8
    draw = np.random.default_rng(3)
    weights = {
        "table": draw.normal(size=(VOCABULARY, width)).astype(np.float32),
        "query": draw.normal(size=(width, width)).astype(np.float32),
        "key": draw.normal(size=(width, kv_heads * head)).astype(np.float32),
        "value": draw.normal(size=(width, kv_heads * head)).astype(np.float32),
        "scores": draw.normal(size=(width, VOCABULARY)).astype(np.float32),
        "zero": np.array(0), "one": np.array(1), "last": np.array([1]), "none": np.array(0, np.float32),
        "low": np.array(-1e9, np.float32), "two": np.array([2]),
    }  # fmt: skip
    node = helper.make_node
    nodes = [node("Gather", ["table", "input_ids"], ["x"])]
    nodes += [node("MatMul", ["x", name], [name[0]]) for name in ("query", "key", "value")]
    nodes += [
        node("Shape", ["past_key_values.0.key"], ["lengths"]),
        node("Gather", ["lengths", "two"], ["past_length"]),
        node("Squeeze", ["past_length"], ["past"]),
        node("Shape", ["input_ids"], ["new_length"], start=1),
        node("Squeeze", ["new_length"], ["new"]),
        node("Add", ["past", "new"], ["total"]),
        node("Range", ["zero", "total", "one"], ["places"]),
        node("Range", ["past", "total", "one"], ["new_places"]),
        node("Unsqueeze", ["new_places", "last"], ["rows"]),
        node("Expand", ["total", "last"], ["limit"]) if mask == "open" else node("Add", ["rows", "one"], ["limit"]),
        node("Less", ["places", "limit"], ["seen"]),
        node("Shape", ["rows"], ["one_column"]),
        node("Expand", ["seen", "one_column"], ["kept"]),
        node("Where", ["kept", "none", "low"], ["bias"]),
    ]
    masks = {"float": "bias", "open": "bias", "bool": "kept", "attribute": ""}
    past = ["past_key_values.0.key", "past_key_values.0.value"]
    attributes = {"q_num_heads": heads, "kv_num_heads": kv_heads, "is_causal": int(mask == "attribute")}
    present = ["present.0.key", "present.0.value"]
    nodes += [
        node("Attention", ["q", "k", "v", masks[mask], *past], ["mixed", *present], **attributes),
        node("Add", ["x", "mixed"], ["y"]),
        node("MatMul", ["y", "scores"], ["plain"]),
    ]
    if reads_cache:
        nodes += [node("ReduceSum", ["present.0.key"], ["sum"], keepdims=0), node("Add", ["plain", "sum"], ["logits"])]
    else:
        nodes += [node("Identity", ["plain"], ["logits"])]
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "tokens", VOCABULARY])]
    for names, length, declared in ((past, "past", inputs), (present, "total", outputs)):
        shape = ["batch", kv_heads, length, head]
        declared += [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "attention decoder", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path
