"""The backends ``tf`` and ``tf-xla``: one frozen graph, run by TensorFlow's kernels or compiled by XLA."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module, metadata
from typing import TYPE_CHECKING

from irbench.onnx.operator_classes import OperatorClass
from irbench.spec import Artifact, Load
from irbench.spi import (
    Availability,
    Description,
    Phases,
    ProfiledSession,
    Refusal,
    Session,
    Usage,
    UsedModel,
    install_command,
)
from irbench_tf import precision
from irbench_tf.options import KNOWN, apply_environment, environment_for, parse_options
from irbench_tf.session import import_full, import_lean, installed

if TYPE_CHECKING:
    from irbench.spec.training import ModelFacts, TrainedModel, TrainingArtifact
    from irbench.spi import TrainingSession
    from irbench_tf.compiler import Job
    from irbench_tf.session import GraphSession

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


_TENSORFLOW: Mapping[OperatorClass, str] = {
    OperatorClass.MATRIX: """
        BatchMatMul BatchMatMulV2 BatchMatMulV3 Conv2D Conv2DBackpropInput Conv3D Conv3DBackpropInputV2
        DepthwiseConv2dNative Einsum MatMul QuantizedMatMul SparseMatMul
    """,
    OperatorClass.RECURRENT: "BlockLSTM BlockLSTMV2 CudnnRNN CudnnRNNV3 GRUBlockCell LSTMBlockCell",
    OperatorClass.NORMALISATION: """
        FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 L2Loss LRN LogSoftmax Softmax SoftmaxCrossEntropyWithLogits
        SparseSoftmaxCrossEntropyWithLogits
    """,
    OperatorClass.ELEMENTWISE: """
        Abs Acos Acosh Add AddN AddV2 AdjustContrastv2 AdjustHue AdjustSaturation Asin Asinh Atan Atan2 Atanh BiasAdd
        BiasAddV1 BitwiseAnd BitwiseOr BitwiseXor Ceil ClipByValue ComplexAbs Cos Cosh Div DivNoNan Elu Equal Erf Exp
        Expm1 FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars Floor FloorDiv FloorMod Greater GreaterEqual Invert
        IsFinite IsInf IsNan LeakyRelu LeftShift Less LessEqual Log Log1p LogicalAnd LogicalNot LogicalOr
        MatrixBandPart Maximum Minimum Mul Neg NotEqual Pow RealDiv Reciprocal Relu Relu6 RightShift Rint Round Rsqrt
        Select SelectV2 Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square SquaredDifference Sub Tan Tanh
        TruncateDiv
    """,
    OperatorClass.REDUCTION: """
        All Any ArgMax ArgMin AvgPool AvgPool3D Bincount Cumprod Cumsum DenseBincount Max MaxPool MaxPool3D MaxPoolV2
        MaxPoolWithArgmax Mean Min Prod SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum SparseSegmentMean
        SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments SparseSegmentSum
        SparseSegmentSumWithNumSegments Sum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd
        UnsortedSegmentSum
    """,
    OperatorClass.MOVEMENT: """
        BatchToSpaceND BroadcastTo Cast CheckNumerics Concat ConcatV2 Const CropAndResize DepthToSpace DynamicPartition
        DynamicStitch EnsureShape ExpandDims ExtractImagePatches Fill Gather GatherNd GatherV2 Identity IdentityN
        InvertPermutation MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3
        MatrixSetDiagV3 MirrorPad NoOp OneHot OnesLike Pack Pad PadV2 ParallelDynamicStitch Placeholder PlaceholderV2
        PlaceholderWithDefault RaggedGather RaggedRange RaggedTensorFromVariant RaggedTensorToSparse
        RaggedTensorToTensor RaggedTensorToVariant Range Reshape ResizeArea ResizeBicubic ResizeBilinear
        ResizeNearestNeighbor ReverseSequence ReverseV2 Roll ScatterNd Shape Size Slice SpaceToBatchND SpaceToDepth
        SparseFillEmptyRows SparseReshape SparseToDense Split SplitV Squeeze StopGradient StridedSlice
        TensorListFromTensor TensorListGetItem TensorListLength TensorListReserve TensorListResize TensorListSetItem
        TensorListStack TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate Tile
        Transpose Unpack ZerosLike
    """,
    OperatorClass.CONTROL_FLOW: """
        Case Enter Exit If LoopCond Merge NextIteration PartitionedCall StatefulPartitionedCall StatelessIf
        StatelessWhile Switch While
    """,
    OperatorClass.OTHER: """
        AsString CTCGreedyDecoder CombinedNonMaxSuppression DenseToDenseSetOperation FFT FIFOQueueV2 HashTableV2
        IteratorGetNext IteratorV2 LookupTableFindV2 LookupTableSizeV2 MatrixDeterminant MatrixInverse Multinomial
        NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 QueueDequeueManyV2
        QueueDequeueUpToV2 QueueDequeueV2 RFFT RFFT2D RandomShuffle RandomStandardNormal RandomUniform RandomUniformInt
        ReduceJoin SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 StaticRegexReplace StringJoin StringLower
        StringSplit StringSplitV2 StringToHashBucketFast StringToNumber StringUpper TopKV2 Unique UniqueWithCounts
        Where
    """,
}
"""Operators that users' graphs have, as far as they can be exported to ONNX."""

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


TENSORFLOW_KINDS: Mapping[str, str] = {**_by_kind(_TENSORFLOW), **_by_kind(REWRITTEN)}
"""The class of TensorFlow's operators by their types, with those that it makes of others."""

XLA_KINDS: Mapping[str, str] = _by_kind(_XLA)
"""The class of XLA's instructions by their opcodes; a fusion whose nodes are unknown is taken for elementwise."""


_DISTRIBUTION = "tensorflow"
_REQUIRED = ("tensorflow", "tf2onnx")
_DEVICES = ("cpu", "gpu")


class TensorFlowBackend:
    """Runs artifacts of kind ``tf-graph`` on TensorFlow."""

    consumes: tuple[str, ...] = ("tf-graph",)

    def __init__(self, name: str, *, jit: bool) -> None:
        self.name = name
        self._jit = jit

    def describe(self) -> Description:
        """Say what is installed, from metadata."""
        try:
            version = metadata.version(_DISTRIBUTION)
        except metadata.PackageNotFoundError:
            version = None
        options = tuple(sorted(KNOWN))
        return Description(
            self.name,
            _DISTRIBUTION,
            version,
            _DEVICES,
            install_command(*_REQUIRED),
            options=options,
            nvidia_devices=("gpu",),
            is_original=not self._jit,
            files=(),
            variables=("TF_", "TENSORFLOW_", "XLA_", "KERAS_"),
            operator_kinds=XLA_KINDS if self._jit else TENSORFLOW_KINDS,
        )

    def probe(self) -> Availability:
        """Ask TensorFlow for devices, and its rewriter whether it narrows a product to bf16 on this CPU."""
        from irbench_tf.probe import probe

        return probe(jit=self._jit)

    def check_load(self, load: Load, device: str, _graph_precision: str, /) -> None:
        """Refuse options with impossible values, and precisions that no graph can be rewritten to."""
        parse_options(load.options, self.name)
        precision.refuse_impossible(load, device, jit=self._jit)

    def import_runtime(self, load: Load, device: str, /) -> None:
        """Set the environment and import TensorFlow: without its public API for the CPU, whole for a GPU."""
        if device not in _DEVICES:
            raise Refusal(f"{self.name} has no device {device!r}.", hint=f"Devices: {', '.join(_DEVICES)}.")
        self.check_load(load, device, "")
        options = parse_options(load.options, self.name)
        if not installed():
            raise Refusal("TensorFlow is not installed.", hint=install_command(*_REQUIRED))
        apply_environment(environment_for(load, options, device))
        if device == "cpu":
            import_lean()
        else:
            import_full()

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases, /) -> Session:
        """Load the graph and make a session of it; XLA compiles here, for the shapes of ``artifact``."""
        return self._compile(artifact, load, device, phases)[1]

    def compile_profiled(self, artifact: Artifact, load: Load, device: str, phases: Phases, /) -> ProfiledSession:
        """Compile as :meth:`compile` does; the session can be traced."""
        from irbench_tf.profiling import ProfiledGraphSession

        if device != "cpu":
            raise Refusal(f"{self.name} can be profiled on the CPU alone.", hint="Profile it on the CPU.")
        return ProfiledGraphSession(*self._compile(artifact, load, device, phases))

    def usage(self, model: UsedModel, load: Load, device: str, /) -> Usage:
        """Return how TensorFlow is used for a load."""
        from irbench_tf.usage import usage

        return usage(model, load, device, parse_options(load.options, self.name), jit=self._jit)

    def describe_model(self, model: TrainedModel, /) -> ModelFacts:
        """Load a model that is to be trained, and say what it is."""
        from irbench_tf.training.models import model_facts

        return model_facts(model)

    def import_training(self, load: Load, device: str, /) -> None:
        """Set the environment and the threads, and import TensorFlow and Keras as a training script does."""
        if self._jit:
            raise Refusal("tf-xla runs frozen graphs.", hint="Give `--xla on` in place of another backend.")
        if not installed():
            raise Refusal("TensorFlow is not installed.", hint=install_command(*_REQUIRED))
        apply_environment(environment_for(load, parse_options(load.options, self.name), device))
        import_full()
        threading = import_module("tensorflow").config.threading
        import_module("keras")
        if load.threads is not None:
            threading.set_intra_op_parallelism_threads(load.threads)
            threading.set_inter_op_parallelism_threads(load.threads)

    def compile_training(
        self, training: TrainingArtifact, load: Load, device: str, phases: Phases, /
    ) -> TrainingSession:
        """Make a session of a Keras model with its optimizer and its pipeline."""
        from irbench_tf.training.session import make_session

        return make_session(training, load, device, phases)

    def training_program(self, training: TrainingArtifact, load: Load, /) -> str:
        """Return a script for Keras."""
        from irbench_tf.training.program import program

        return program(training, load)

    def _compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> tuple[Job, GraphSession]:
        from irbench_tf.compiler import Job, compile_graph, load_graph

        job = Job(artifact, load, device, self._jit)
        with phases("load"):
            graph = load_graph(job)
        with phases("compile"):
            return job, compile_graph(job, graph)
