"""Classes of TensorFlow's operators and of XLA's instructions, as far as inference has them."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.onnx.operator_classes import OperatorClass

__all__ = ["TENSORFLOW_KINDS", "XLA_KINDS"]

_TENSORFLOW: Mapping[OperatorClass, str] = {
    OperatorClass.MATRIX: """
        BatchMatMul BatchMatMulV2 BatchMatMulV3 Conv2D Conv2DBackpropInput Conv3D Conv3DBackpropInputV2
        DepthwiseConv2dNative Einsum MatMul QuantizedMatMul SparseMatMul _FusedBatchMatMulV2 _FusedConv2D _FusedConv3D
        _FusedDepthwiseConv2dNative _FusedMatMul _MklBatchMatMul _MklBatchMatMulV2 _MklConv2D _MklConv3D
        _MklDepthwiseConv2dNative _MklEinsum _MklFusedBatchMatMulV2 _MklMatMul _MklNativeConv2D _MklNativeConv3D
        _MklNativeDepthwiseConv2dNative _MklNativeFusedConv2D _MklNativeFusedConv3D
        _MklNativeFusedDepthwiseConv2dNative _MklFusedMatMul _MklNativeFusedMatMul
    """,
    OperatorClass.RECURRENT: "BlockLSTM BlockLSTMV2 CudnnRNNV3 GRUBlockCell LSTMBlockCell",
    OperatorClass.NORMALISATION: """
        FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 L2Loss LRN LogSoftmax Softmax _FusedBatchNormEx
        _MklFusedBatchNormV3 _MklLRN _MklLayerNorm _MklNativeFusedBatchNormV3 _MklSoftmax
    """,
    OperatorClass.ELEMENTWISE: """
        Abs Add AddN AddV2 BiasAdd Ceil ClipByValue Cos Div DivNoNan Elu Equal Erf Exp Expm1 Floor FloorDiv FloorMod
        Greater GreaterEqual LeakyRelu Less LessEqual Log Log1p LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul Neg
        NotEqual Pow RealDiv Reciprocal Relu Relu6 Round Rsqrt Select SelectV2 Selu Sigmoid Sign Sin Softplus Softsign
        Sqrt Square SquaredDifference Sub Tan Tanh _FusedHardSwish _MklAddN _MklFusedMish _MklSwish
    """,
    OperatorClass.REDUCTION: """
        All Any ArgMax ArgMin AvgPool AvgPool3D Cumsum Max MaxPool MaxPool3D Mean Min Prod Sum _MklAvgPool _MklMaxPool
        _MklNativeAvgPool _MklNativeMaxPool
    """,
    OperatorClass.MOVEMENT: """
        BroadcastTo Cast Concat ConcatV2 Const DepthToSpace ExpandDims Fill Gather GatherNd GatherV2 Identity IdentityN
        MirrorPad OneHot Pack Pad PadV2 Range Reshape ResizeBilinear ResizeNearestNeighbor ReverseV2 ScatterNd Shape
        Slice SpaceToBatchND BatchToSpaceND Split SplitV Squeeze StridedSlice TensorListFromTensor TensorListGetItem
        TensorListReserve TensorListSetItem TensorListStack TensorScatterUpdate Tile Transpose Unpack ZerosLike
        _MklConcatV2 _MklTranspose _MklSlice _MklToTf _MklInputConversion
    """,
    OperatorClass.CONTROL_FLOW: """
        Case Enter Exit If LoopCond Merge NextIteration PartitionedCall StatefulPartitionedCall StatelessIf
        StatelessWhile Switch While
    """,
}

_XLA: Mapping[OperatorClass, str] = {
    OperatorClass.MATRIX: """
        __cpu$eigen_matmul __onednn$convolution __onednn$matmul __onednn$matmul_reorder convolution dot ragged-dot
    """,
    OperatorClass.NORMALISATION: "__onednn$layernorm __onednn$softmax batch-norm-inference",
    OperatorClass.ELEMENTWISE: """
        abs add and ceil clamp compare cosine divide erf exponential exponential-minus-one floor fusion log log-plus-one
        logistic map maximum minimum multiply negate not or power remainder round-nearest-afz round-nearest-even rsqrt
        select sign sine sqrt subtract tan tanh xor
    """,
    OperatorClass.REDUCTION: "reduce reduce-window select-and-scatter",
    OperatorClass.MOVEMENT: """
        bitcast bitcast-convert broadcast concatenate convert copy dynamic-reshape dynamic-slice dynamic-update-slice
        gather get-tuple-element iota pad reshape reverse scatter slice transpose tuple
    """,
    OperatorClass.CONTROL_FLOW: "call conditional while",
    OperatorClass.OTHER: "rng rng-bit-generator sort topk",
}


def _by_kind(classes: Mapping[OperatorClass, str]) -> Mapping[str, str]:
    return {kind: operators.value for operators, kinds in classes.items() for kind in kinds.split()}


TENSORFLOW_KINDS: Mapping[str, str] = _by_kind(_TENSORFLOW)
"""The class of TensorFlow's operators by their types."""

XLA_KINDS: Mapping[str, str] = _by_kind(_XLA)
"""The class of XLA's instructions by their opcodes; a fusion whose nodes are unknown is taken for elementwise."""
