"""To which class of work an operator belongs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from irbench.spi import Array


class OperatorClass(StrEnum):
    """A class of operators; the values are stored, and their words are written where results are displayed."""

    MATRIX = "matrix"
    """Matrix products and convolutions, attention included."""
    RECURRENT = "recurrent"
    NORMALISATION = "normalisation"
    """Batch, layer and group normalisation, and softmax, which divides by a sum."""
    ELEMENTWISE = "elementwise"
    """One output element from one element of each input: arithmetic, activations, quantisers."""
    REDUCTION = "reduction"
    """Pooling and reductions."""
    MOVEMENT = "movement"
    """Data movement and layout: transposes, copies, gathers, casts and reorders."""
    CONTROL_FLOW = "control-flow"
    OTHER = "other"
    """Sorting, searching, random numbers, strings, Fourier transforms, trees, and operators of unknown domains."""
    OVERHEAD = "overhead"
    """The runtime's own work, which computes no node."""


PRODUCTS = (OperatorClass.MATRIX, OperatorClass.RECURRENT)
"""Classes whose operators multiply and accumulate; with them counts whatever was fused into such an operator."""

CLASSIFIED_DOMAINS = frozenset(
    {
        *("", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"),
        *("com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"),
    }
)
"""Domains whose operators are classified; a name means the same work in each of them."""

_NAMES: Mapping[OperatorClass, str] = {
    OperatorClass.MATRIX: """
        Attention AttnLSTM CDist CausalConvWithState Conv ConvInteger ConvTranspose ConvTransposeWithDynamicPads
        DecoderAttention DecoderMaskedMultiHeadAttention DecoderMaskedSelfAttention DeformConv
        DisentangledAttention_TRT DynamicQuantizeMatMul DynamicSparseAttention Einsum FlexAttention FusedConv
        FusedGemm FusedMatMul FusedMatMulActivation GatedDeltaNet GatedRelativePositionBias Gemm GemmFastGelu
        GemmFloat8 GroupQueryAttention LinearAttention LinearClassifier LinearRegressor LongformerAttention MatMul
        MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight MatMulBnb4 MatMulFpQ4 MatMulInteger
        MatMulInteger16 MatMulIntegerToFloat MatMulNBits MatMulNBitsMlp MatMulNBitsQkv MoE MultiHeadAttention NhwcConv
        NhwcFusedConv PackedAttention PackedMultiHeadAttention PackedSparseAttentionIndexer PagedAttention QAttention
        QGemm QLinearConv QLinearConvTranspose QLinearMatMul QMoE QOrderedAttention QOrderedLongformerAttention
        QOrderedMatMul SVMClassifier SVMRegressor SparseAttention SparseAttentionIndexer SparsePagedAttention
        SparseToDenseMatMul TransposeMatMul VarlenCausalConvWithState WordConvEmbedding
    """,
    OperatorClass.RECURRENT: "DynamicQuantizeLSTM GRU GRUUnit LSTM RNN",
    OperatorClass.NORMALISATION: """
        BatchNormalization BiasSoftmax BranchwiseRMSNorm EmbedLayerNormalization GatedRMSNorm GroupNorm
        GroupNormalization Hardmax InstanceNormalization LRN LayerNormalization LogSoftmax LpNormalization
        MeanVarianceNormalization Normalizer QEmbedLayerNormalization QLinearSoftmax QOrderedLayerNormalization
        RMSNormalization SimplifiedLayerNormalization SkipGroupNorm SkipLayerNormalization
        SkipSimplifiedLayerNormalization Softmax
    """,
    OperatorClass.ELEMENTWISE: """
        Abs Acos Acosh Adagrad Adam Add Affine AffineGrid And Asin Asinh Atan Atanh BiasAdd BiasDropout BiasGelu
        BiasSplitGelu Binarizer BitShift BitmaskBiasDropout BitmaskDropout BitwiseAnd BitwiseNot BitwiseOr BitwiseXor
        Ceil Celu Clip ComplexMul ComplexMulConj Cos Cosh DequantizeBFP DequantizeLinear DequantizeWithOrder Div
        Dropout DynamicQuantizeLinear Elu EngramGate Equal Erf Exp FastGelu Floor GatedAdd Gelu GemmaRotaryEmbedding
        Greater GreaterOrEqual HardSigmoid HardSwish HyperConnectionPostMix HyperConnectionPreMix ImageScaler Imputer
        IsInf IsNaN LeakyRelu Less LessOrEqual LinearAttentionGate Log MRotaryEmbedding Max Mean Min Mish Mod Momentum
        Mul MulInteger Neg Not Or PRelu ParametricSoftplus Pow QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid
        QLinearWhere QOrderedGelu QuantizeBFP QuantizeLinear QuantizeWithOrder QuickGelu Reciprocal
        RelativePositionBias Relu RotaryEmbedding Round Scale ScaledSiLU ScaledTanh Scaler Selu Shrink Sigmoid Sign
        Sin Sinh Softplus Softsign Sqrt Sub Sum SwiGLU Swish Tan Tanh ThresholdedRelu Trilu Where Xor
    """,
    OperatorClass.REDUCTION: """
        ArgMax ArgMin AveragePool Col2Im CumProd CumSum GlobalAveragePool GlobalLpPool GlobalMaxPool IsAllFinite
        LpPool MaxPool MaxRoiPool MaxpoolWithMask NegativeLogLikelihoodLoss NhwcMaxPool PyramidROIAlign_TRT
        QLinearAveragePool QLinearGlobalAveragePool QLinearReduceMean ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
        ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumInteger ReduceSumSquare RoiAlign
        SoftmaxCrossEntropyLoss
    """,
    OperatorClass.MOVEMENT: """
        ArrayFeatureExtractor BitCast Cast CastLike CenterCropPad Compress Concat ConcatFromSequence Constant
        ConstantOfShape Crop CropAndResize DepthToSpace DynamicSlice Expand ExpandDims EyeLike FeatureVectorizer
        Flatten Gather GatherBlockQuantized GatherElements GatherND GivenTensorFill GridSample Identity MaxUnpool
        MemcpyFromHost MemcpyToHost MultilevelCropAndResize_TRT OneHot Optional OptionalGetElement OptionalHasElement
        Pad QLinearConcat Range RemovePadding ReorderInput ReorderOutput Reshape Resize RestorePadding ReverseSequence
        Scatter ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert
        SequenceLength Shape Size Slice SpaceToDepth Split SplitToSequence Squeeze TensorScatter Tile TorchEmbedding
        Transpose UnfoldTensor Unsqueeze Upsample ZipMap
    """,
    OperatorClass.CONTROL_FLOW: "BeamSearch Gradient GreedySearch If Loop Sampling Scan SequenceMap WhisperBeamSearch",
    OperatorClass.OTHER: """
        Bernoulli BifurcationDetector BlackmanWindow CastMap CategoryMapper DFT Det DictVectorizer DynamicTimeWarping
        EPContext EfficientNMS_TRT HammingWindow HannWindow ImageDecoder Inverse Irfft LabelEncoder MelWeightMatrix
        Multinomial MurmurHash3 NGramHashMapping NGramRepeatBlock NonMaxSuppression NonZero OneHotEncoder RandomNormal
        RandomNormalLike RandomUniform RandomUniformLike RegexFullMatch Rfft STFT SampleOp Snpe StringConcat
        StringNormalizer StringSplit TfIdfVectorizer Tokenizer TopK TreeEnsemble TreeEnsembleClassifier
        TreeEnsembleRegressor Unique VarlenNGramHashMapping
    """,
}

OPERATORS: Mapping[str, OperatorClass] = {
    name: operators for operators, names in _NAMES.items() for name in names.split()
}
"""The class of every operator of ONNX and of those that ONNX Runtime adds, by its type."""


def operator_class(domain: str, op_type: str) -> OperatorClass:
    """Return the class of an operator; :attr:`OperatorClass.OTHER` where nothing is known of it.

    Both names of ONNX's own operator set are understood, ``""`` and ``ai.onnx``.
    """
    if domain not in CLASSIFIED_DOMAINS:
        return OperatorClass.OTHER
    return OPERATORS.get(op_type, OperatorClass.OTHER)


_RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


_TRAINING_SWITCHES = {"Dropout": 2, "BitmaskDropout": 2, "BiasDropout": 4, "BitmaskBiasDropout": 4}
"""Places of the inputs that say whether operators are in training mode; the input before is how much they drop."""


def draws_always(domain: str, op_type: str) -> bool:
    """Whether an operator draws random numbers whatever its inputs are; ``False`` for those of unknown vendors."""
    if domain == "com.microsoft":
        return op_type == "Sampling"
    return domain in ("", "ai.onnx") and op_type in _RANDOM


def training_switch(domain: str, op_type: str) -> int | None:
    """Return which input of an operator says whether it draws random numbers; ``None`` for other operators."""
    if domain in ("", "ai.onnx"):
        return _TRAINING_SWITCHES["Dropout"] if op_type == "Dropout" else None
    return _TRAINING_SWITCHES.get(op_type) if domain == "com.microsoft" else None


def may_be_random(domain: str, op_type: str, third_input: Array | bool | None) -> bool:
    """Whether an operator may give another output each time; any of a vendor may, since ONNX does not define it.

    The constant value of the third input says whether a Dropout is in training mode; it is ``False`` where the node has
    none, ``None`` where it is unknown.
    """
    if third_input is None or isinstance(third_input, bool):
        trains = third_input is not False
    else:
        trains = bool(third_input.any())
    return domain not in ("", "ai.onnx") or op_type in _RANDOM or (op_type == "Dropout" and trains)


class ClassText(NamedTuple):
    """What a class of operators is called."""

    heading: str
    phrase: str


OPERATOR_CLASS_TEXTS: Mapping[OperatorClass, ClassText] = {
    OperatorClass.MATRIX: ClassText("matrix, conv", "matrix products and convolutions"),
    OperatorClass.RECURRENT: ClassText("recurrent", "recurrent layers"),
    OperatorClass.NORMALISATION: ClassText("normalisation", "normalisation"),
    OperatorClass.ELEMENTWISE: ClassText("elementwise", "elementwise operators"),
    OperatorClass.REDUCTION: ClassText("pool, reduce", "pooling and reductions"),
    OperatorClass.MOVEMENT: ClassText("data movement", "data movement"),
    OperatorClass.CONTROL_FLOW: ClassText("control flow", "control flow"),
    OperatorClass.OTHER: ClassText("other", "other operators"),
    OperatorClass.OVERHEAD: ClassText("runtime's own", "the runtime's own work"),
}
