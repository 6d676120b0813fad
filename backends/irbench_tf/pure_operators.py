"""Which graphs of TensorFlow only compute: a graph is a program, and others use files, networks, Python or all memory.

An operator is refused unless it is known to be harmless, so that one which TensorFlow adds is refused until somebody
has looked at it. TensorFlow's registry says of each whether it is stateful. Most that read or write files are, but
``ReadFile``, ``ImmutableConst`` and ``PyFuncStateless`` are not. All of these take text, though: a file's name, an
address, or what is called. So an operator without state must take no text either. Those on the lists below may.

A constant of equal values stores one of them, and TensorFlow fills memory with as many as its shape says: a file of a
few bytes may ask for any amount.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from irbench.spi import Refusal

MOST_BYTES = 1 << 31
"""What constants may claim beyond what is stored of them: as much as a file of TensorFlow can hold."""
_STRING, _TEXT_BYTES = 7, 24
"""``DT_STRING`` in TensorFlow's types.proto, and what each text takes besides its letters."""


def claimed_bytes(nodes: Iterable[Any]) -> int:
    """Return how many bytes the tensors in the attributes of nodes would take beyond those that are stored.

    Args:
        nodes: As in a ``GraphDef``; what they claim is counted up to twice :data:`MOST_BYTES` each.
    """
    return sum(
        max(0, _whole_bytes(tensor) - tensor.ByteSize())
        for node in nodes
        for attribute in node.attr.values()
        for tensor in (attribute.tensor, *attribute.list.tensor)
        if tensor.dtype
    )


def _whole_bytes(tensor: Any) -> int:
    sizes = [dimension.size for dimension in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or any(size <= 0 for size in sizes):  # empty, or refused by TensorFlow
        return 0
    size_bytes: int = _element_bytes(tensor.dtype)
    for size in sizes:
        size_bytes *= size
        if size_bytes > 2 * MOST_BYTES:
            return 2 * MOST_BYTES + int(tensor.ByteSize())
    return size_bytes


def _element_bytes(type_: int) -> int:
    from tensorflow.python.framework import dtypes  # the package itself would import all of TensorFlow and Keras

    if type_ == _STRING:
        return _TEXT_BYTES
    try:
        return max(1, int(dtypes.as_dtype(type_).size))
    except TypeError:  # no type of TensorFlow's, which refuses it
        return 1


STATEFUL = frozenset(
    {
        "Assert", "AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp", "Case", "CheckNumerics",
        "CheckNumericsV2", "CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "DeviceIndex", "DisableCopyOnRead", "Empty",
        "GuaranteeConst", "If", "Multinomial", "NonDeterministicInts", "ParameterizedTruncatedNormal", "RandomCrop",
        "RandomGamma", "RandomPoisson", "RandomPoissonV2", "RandomShuffle", "RandomStandardNormal", "RandomUniform",
        "RandomUniformInt", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "RngReadAndSkip", "RngSkip",
        "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatefulPartitionedCall",
        "StatefulRandomBinomial", "StatefulStandardNormal", "StatefulStandardNormalV2", "StatefulTruncatedNormal",
        "StatefulUniform", "StatefulUniformFullInt", "StatefulUniformInt", "StatelessRandomGetAlg",
        "TensorArrayCloseV3", "TensorArrayConcatV3", "TensorArrayGatherV3", "TensorArrayReadV3",
        "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArraySplitV3", "TensorArrayV3", "TensorArrayWriteV3",
        "TruncatedNormal", "VarHandleOp", "Variable", "VariableShape", "VariableV2", "VarIsInitializedOp", "While",
    }
)  # fmt: skip
"""Stateful operators that change nothing outside of the graph: random numbers, loops, tensor arrays, variables."""

WITH_TEXT = frozenset(
    {
        "AsString", "DataFormatDimMap", "DataFormatVecPermute", "DecodeAndCropJpeg", "DecodeBase64", "DecodeBmp",
        "DecodeCompressed", "DecodeCSV", "DecodeGif", "DecodeImage", "DecodeJpeg", "DecodeJSONExample",
        "DecodePaddedRaw", "DecodePng", "DecodeRaw", "DecodeWav", "DecodeWebP", "DenseToDenseSetOperation",
        "DenseToSparseSetOperation", "DeserializeManySparse", "Einsum", "EncodeBase64", "EncodeJpeg", "Enter",
        "ExtractGlimpse", "ExtractGlimpseV2", "ExtractJpegShape", "Fingerprint", "_FusedBatchNormEx",
        "_FusedConv2D", "_FusedConv3D", "_FusedDepthwiseConv2dNative", "_FusedMatMul", "GatherNd",
        "ImageProjectiveTransformV2", "ImageProjectiveTransformV3", "ParseExample", "ParseExampleV2",
        "ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleExample", "ParseSingleSequenceExample",
        "ParseTensor", "PartitionedCall", "PreventGradient", "RaggedCross", "RaggedTensorToTensor", "ReduceJoin",
        "RefEnter", "RegexFullMatch", "RegexReplace", "ScaleAndTranslate", "ScaleAndTranslateGrad", "ScatterNd",
        "ScatterNdNonAliasingAdd", "SdcaFprint", "ShardedFilename", "ShardedFilespec", "SparseCrossV2",
        "SparseToSparseSetOperation", "StaticRegexFullMatch", "StaticRegexReplace", "StringFormat", "StringJoin",
        "StringLength", "StringLower", "StringNGrams", "StringSplit", "StringSplitV2", "StringStrip",
        "StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong", "StringToNumber", "StringUpper",
        "Substr", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin", "TensorScatterSub",
        "TensorScatterUpdate", "_UnaryOpsComposition", "UnicodeDecode", "UnicodeDecodeWithOffsets",
        "UnicodeTranscode", "UniformQuantizedConvolution", "UniformQuantizedConvolutionHybrid",
        "UnsortedSegmentJoin", "XlaConv", "XlaConvV2", "XlaDot", "XlaDotV2", "XlaEinsum", "XlaGather", "XlaScatter",
        "XlaSharding", "XlaSpmdFullToShardShape", "XlaSpmdShardToFullShape", "XlaSvd",
    }
)  # fmt: skip
"""Operators whose text is an equation, a layout, a kernel's name, or what they compute with."""

RESTORING = frozenset({"RestoreV2"})
"""What restores the variables of a SavedModel: it reads the files that a text names."""

_NOT_OURS = "irbench exports no such graph: do not trust it, or export the model again."
_TEXTS = ("string", "list(string)")


def is_pure(operation: str) -> bool:
    """Whether an operator only computes; false for one that TensorFlow does not have."""
    definition = _definition(operation)
    if definition is None:
        return False
    if definition.is_stateful:
        return operation in STATEFUL
    return operation in WITH_TEXT or not _takes_text(definition)


def require_pure_graph(graph_def: Any, name: str) -> None:
    """Refuse a graph that does more than compute, or claims memory that it does not store, before it is imported."""
    functions = {function.signature.name for function in graph_def.library.function}
    # a function may be called by its name, which must not hide an operator's
    calls = {name for name in functions if not is_known(name)}
    impure = sorted(operation for operation in _operations(graph_def) - calls if not is_pure(operation))
    if impure:
        raise Refusal(
            f"{name} contains operators that do more than compute: {', '.join(impure)}.",
            hint=_NOT_OURS,
        )
    claimed = claimed_bytes(_nodes(graph_def))
    if claimed > MOST_BYTES:
        raise Refusal(
            f"The constants of {name} claim {claimed / 1e9:.1f} GB or more of memory that the file does not hold.",
            hint=_NOT_OURS,
        )


def is_known(operation: str) -> bool:
    """Whether TensorFlow has an operator of this name."""
    return _definition(operation) is not None


def _definition(operation: str) -> Any:
    from tensorflow.python.framework import op_def_registry

    return op_def_registry.get(operation)


def _operations(graph_def: Any) -> set[str]:
    return {node.op for node in _nodes(graph_def)}


def _nodes(graph_def: Any) -> Iterator[Any]:
    yield from graph_def.node
    for function in graph_def.library.function:
        yield from function.node_def


def _takes_text(definition: Any) -> bool:
    """Whether an operator has an argument or an attribute of text; one with a list of allowed values is none."""
    return any(argument.type == _STRING for argument in definition.input_arg) or any(
        attribute.type in _TEXTS and not attribute.HasField("allowed_values") for attribute in definition.attr
    )
