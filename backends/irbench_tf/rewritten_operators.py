"""Classes of operators that TensorFlow itself puts in the place of those of a graph when it prepares to run it.

Their names begin with an underscore, and no exported graph has them. Most are made for oneDNN:
``_MklNativeFusedConv2D`` computes a convolution, its bias and its activation, ``_MklNativePadWithFusedConv2D`` the
padding before it as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from irbench.onnx.operator_classes import OperatorClass

REWRITTEN: Mapping[OperatorClass, str] = {
    OperatorClass.MATRIX: """
        _FusedConv2D _FusedConv3D _FusedDepthwiseConv2dNative _FusedMatMul _FusedQuantizedConv2D
        _FusedQuantizedDepthwiseConv2D _MklBatchMatMul _MklBatchMatMulV2 _MklConv2D _MklConv2DBackpropFilter
        _MklConv2DBackpropFilterWithBias _MklConv2DBackpropInput _MklConv2DWithBias _MklConv3D
        _MklConv3DBackpropFilterV2 _MklConv3DBackpropInputV2 _MklDepthwiseConv2dNative
        _MklDepthwiseConv2dNativeBackpropFilter _MklDepthwiseConv2dNativeBackpropInput _MklEinsum
        _MklFusedBatchMatMulV2 _MklFusedConv2D _MklFusedDepthwiseConv2dNative _MklFusedMatMul _MklMatMul
        _MklNativeConv2D _MklNativeConv2DBackpropFilter _MklNativeConv2DBackpropFilterWithBias
        _MklNativeConv2DBackpropInput _MklNativeConv2DWithBias _MklNativeConv3D _MklNativeConv3DBackpropFilterV2
        _MklNativeConv3DBackpropInputV2 _MklNativeDepthwiseConv2dNative
        _MklNativeDepthwiseConv2dNativeBackpropFilter _MklNativeDepthwiseConv2dNativeBackpropInput
        _MklNativeFusedConv2D _MklNativeFusedConv3D _MklNativeFusedDepthwiseConv2dNative _MklNativeFusedMatMul
        _MklNativePadWithConv2D _MklNativePadWithFusedConv2D _MklNativeSparseMatrixMatMul _MklPadWithConv2D
        _MklPadWithFusedConv2D _MklQuantizedConv2D _MklQuantizedConv2DAndRelu
        _MklQuantizedConv2DAndReluAndRequantize _MklQuantizedConv2DAndRequantize _MklQuantizedConv2DPerChannel
        _MklQuantizedConv2DWithBias _MklQuantizedConv2DWithBiasAndRelu
        _MklQuantizedConv2DWithBiasAndReluAndRequantize _MklQuantizedConv2DWithBiasAndRequantize
        _MklQuantizedConv2DWithBiasSignedSumAndReluAndRequantize _MklQuantizedConv2DWithBiasSumAndRelu
        _MklQuantizedConv2DWithBiasSumAndReluAndRequantize _MklQuantizedDepthwiseConv2D
        _MklQuantizedDepthwiseConv2DWithBias _MklQuantizedDepthwiseConv2DWithBiasAndRelu
        _MklQuantizedDepthwiseConv2DWithBiasAndReluAndRequantize _MklQuantizedMatMulWithBias
        _MklQuantizedMatMulWithBiasAndDequantize _MklQuantizedMatMulWithBiasAndRelu
        _MklQuantizedMatMulWithBiasAndReluAndRequantize _MklQuantizedMatMulWithBiasAndRequantize _QuantizedMatMul
        __MklDummyConv2DBackpropFilterWithBias __MklDummyConv2DWithBias __MklDummyPadWithConv2D
        __MklDummyPadWithFusedConv2D
    """,
    OperatorClass.NORMALISATION: """
        _FusedBatchNormEx _FusedBatchNormGradEx _MklFusedBatchNorm _MklFusedBatchNormEx _MklFusedBatchNormGrad
        _MklFusedBatchNormGradV2 _MklFusedBatchNormGradV3 _MklFusedBatchNormV2 _MklFusedBatchNormV3
        _MklFusedInstanceNorm _MklLayerNorm _MklNativeFusedBatchNorm _MklNativeFusedBatchNormEx
        _MklNativeFusedBatchNormGrad _MklNativeFusedBatchNormGradV2 _MklNativeFusedBatchNormGradV3
        _MklNativeFusedBatchNormV2 _MklNativeFusedBatchNormV3 _MklSoftmax
    """,
    OperatorClass.ELEMENTWISE: """
        _MklDequantize _MklElu _MklEluGrad _MklFusedMish _MklLeakyRelu _MklLeakyReluGrad _MklQuantizeV2 _MklRelu
        _MklRelu6 _MklRelu6Grad _MklReluGrad _MklSwish _MklTanh _MklTanhGrad _UnaryOpsComposition
    """,
    OperatorClass.REDUCTION: """
        _MklAvgPool _MklAvgPool3D _MklAvgPool3DGrad _MklAvgPoolGrad _MklMaxPool _MklMaxPool3D _MklMaxPool3DGrad
        _MklMaxPoolGrad _MklNativeAvgPool _MklNativeAvgPool3D _MklNativeAvgPool3DGrad _MklNativeAvgPoolGrad
        _MklNativeMaxPool _MklNativeMaxPool3D _MklNativeMaxPool3DGrad _MklNativeMaxPoolGrad _MklQuantizedAvgPool
        _MklQuantizedMaxPool _QuantizedMaxPool3D
    """,
    OperatorClass.MOVEMENT: """
        _Arg _ArrayToList _DeviceArg _DeviceRetval _EagerConst _HostCast _HostRecv _HostSend _ListToArray _MklConcat
        _MklConcatV2 _MklConjugateTranspose _MklQuantizedConcatV2 _MklTranspose _ParallelConcatStart
        _ParallelConcatUpdate _ReadVariablesOp _Recv _Retval _ScopedAllocator _ScopedAllocatorConcat
        _ScopedAllocatorSplit _Send _VarHandlesOp
    """,
    OperatorClass.CONTROL_FLOW: "_If _SwitchN _While _XlaMerge",
    OperatorClass.OTHER: "_TensorToHashBucketFast _XlaCompile _XlaRun",
}
"""Types of operators by their class, separated by white space; the gradient of an operator is of its class."""
