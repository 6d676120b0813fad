"""Classes of OpenVINO's own operators: those of the CPU plugin's runtime graph."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.onnx.operator_classes import OperatorClass

__all__ = ["OPERATOR_KINDS"]

_KINDS: Mapping[OperatorClass, str] = {
    OperatorClass.MATRIX: """
        Convolution Deconvolution DeformableConvolution FullyConnected GatherMatmul LLMMLP MHA MatMul PagedAttention
        QKVProjection ScaledDotProductAttention
    """,
    OperatorClass.RECURRENT: "AUGRUCell AUGRUSeq RNNCell RNNSeq",
    OperatorClass.NORMALISATION: "GRN LRN LogSoftmax MVN NormalizeL2 RMS RMSNorm Softmax",
    OperatorClass.ELEMENTWISE: """
        Bucketize Eltwise FakeQuantize Gelu Math RoPE Select Subgraph SwiGLU
    """,
    OperatorClass.REDUCTION: "AdaptivePooling CumSum Pooling ROIAlign ROIPooling Reduce SegmentMax SegmentSum",
    OperatorClass.MOVEMENT: """
        BatchToSpace Broadcast ColorConvert Concatenation Convert DepthToSpace EmbeddingBagOffsetsSum Eye Gather
        GatherElements GatherND GatherTree GridSample Identity Input Interpolate MemoryInput MemoryOutput OneHot Output
        Pad Range Reorder ReorgYolo Reshape ReverseSequence Roll ScatterElementsUpdate ScatterNDUpdate ScatterUpdate
        SearchSorted ShapeOf ShuffleChannels SliceScatter SpaceToBatch SpaceToDepth Split StridedSlice Tile Transpose
        Unsqueeze
    """,
    OperatorClass.CONTROL_FLOW: "If Loop TensorIterator",
}

OPERATOR_KINDS: Mapping[str, str] = {
    kind: operators.value for operators, kinds in _KINDS.items() for kind in kinds.split()
}
"""The class of each by its type."""
