"""Classes of OpenVINO's own operators: those of its models, and those of the CPU plugin's runtime graph."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.onnx.operator_classes import OperatorClass

_KINDS: Mapping[OperatorClass, str] = {
    OperatorClass.MATRIX: """
        BinaryConvolution Convolution ConvolutionBackpropData Deconvolution DeformableConvolution FullyConnected
        FullyConnectedCompressed GatherMatmul GroupConvolution GroupConvolutionBackpropData LLMMLP MHA MatMul
        PagedAttention QKVProjection SDPAWithKVCache ScaledDotProductAttention ScaledDotProductAttentionWithKVCache
    """,
    OperatorClass.RECURRENT: """
        AUGRUCell AUGRUSeq AUGRUSequence GRUCell GRUSequence LSTMCell LSTMSequence RNNCell RNNSeq RNNSequence
    """,
    OperatorClass.NORMALISATION: """
        BatchNormInference GRN GroupNormalization LRN LogSoftmax MVN NormalizeL2 RMS RMSNorm Softmax
    """,
    OperatorClass.ELEMENTWISE: """
        Bucketize Clamp Divide Eltwise FakeQuantize FloorMod Gelu GreaterEqual HSigmoid HSwish LessEqual LogicalAnd
        LogicalNot LogicalOr LogicalXor Math Maximum Minimum MulAdd Multiply Negative NotEqual Power PowerStatic RoPE
        Select SoftPlus SoftSign SquaredDifference Subgraph Subtract SwiGLU Swish
    """,
    OperatorClass.REDUCTION: """
        AdaptiveAvgPool AdaptiveMaxPool AdaptivePooling AvgPool CumSum MaxPool Pooling ROIAlign ROIPooling Reduce
        ReduceLogicalAnd ReduceLogicalOr SegmentMax SegmentSum
    """,
    OperatorClass.MOVEMENT: """
        BatchToSpace Broadcast ColorConvert Concatenation Constant Convert DepthToSpace EmbeddingBagOffsetsSum Eye
        Gather GatherElements GatherND GatherTree GridSample Identity Input Interpolate MemoryInput MemoryOutput OneHot
        Output Pad Parameter Range Reorder ReorgYolo Reshape Result ReverseSequence Roll ScatterElementsUpdate
        ScatterNDUpdate ScatterUpdate SearchSorted ShapeOf ShuffleChannels SliceScatter SpaceToBatch SpaceToDepth Split
        StridedSlice Tile Transpose Unsqueeze VariadicSplit
    """,
    OperatorClass.CONTROL_FLOW: "If Loop TensorIterator",
}

OPERATOR_KINDS: Mapping[str, str] = {
    kind: operators.value for operators, kinds in _KINDS.items() for kind in kinds.split()
}
"""The class of each by its type."""
