"""The OpenVINO backend: description, probe and sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.external_data import external_tensors
from irbench.onnx.reading.protobuf import mapped
from irbench.onnx.rewriting.inline_functions import inline_functions
from irbench.spec import Artifact, Load, Scalar
from irbench.spec.generation import GenerationGraph
from irbench.spi import (
    Availability,
    DecoderSession,
    Description,
    Feed,
    Phases,
    ProfiledSession,
    Refusal,
    Session,
    Usage,
    UsedModel,
    install_command,
)
from irbench_openvino import fourier, precision, runtime
from irbench_openvino.precision import placement_facts
from irbench_openvino.properties import (
    CACHE_FOLDERS,
    FILES,
    HINTS,
    KNOWN,
    PRECISION,
    RESERVED,
    compile_properties,
    pinned_properties,
    read_back,
    without_streams,
)
from irbench_openvino.runtime import probe

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


_DEVICES = {"cpu": "CPU", "gpu": "GPU"}
_DOMAINS = ("com.microsoft",)
"""Its ONNX frontend reads a part of that set; a graph with another operator fails when it is compiled."""


class OpenVinoBackend:
    """OpenVINO's own runtime."""

    name = "openvino"
    consumes = ("onnx",)

    def describe(self) -> Description:
        """Say which version is installed, from metadata."""
        try:
            installed = version("openvino")
        except PackageNotFoundError:
            installed = None
        install = "" if installed else install_command("openvino")
        return Description(
            name=self.name,
            distribution="openvino",
            version=installed,
            devices=tuple(_DEVICES),
            install=install,
            domains=_DOMAINS,
            options=KNOWN,
            reserved=RESERVED,
            int8_methods=("static",),
            cache_folders=CACHE_FOLDERS,
            files=FILES,
            variables=("OV_", "OPENVINO_"),
            hints=HINTS,
            operator_kinds=OPERATOR_KINDS,
        )

    def probe(self) -> Availability:
        """Compile a tiny graph in each precision on each device that is here."""
        return probe(self, _DEVICES)

    def check_load(self, load: Load, _device: str, graph_precision: str) -> None:
        """Refuse properties that contradict the load, and integers where the graph holds none."""
        pinned_properties(load)
        if load.precision_required and graph_precision:
            precision.refuse_integers(graph_precision, load.precision)

    def import_runtime(self, _load: Load, _device: str) -> None:
        """Import openvino without its telemetry."""
        runtime.load()

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Make a session; see :class:`irbench.spi.Backend`."""
        from irbench_openvino.session import OpenVinoSession

        return OpenVinoSession(*self._compile(artifact, load, device, phases, {}))

    def compile_decoder(
        self, graph: GenerationGraph, load: Load, device: str, phases: Phases, _sample: Feed
    ) -> DecoderSession:
        """Make a session that keeps the caches of a decoder as states; see :class:`irbench.spi.CacheKeeper`."""
        from irbench_openvino.decoder import OpenVinoDecoderSession, keep_caches

        compiled, _, effective = self._compile(
            graph.artifact, load, device, phases, {}, lambda model: keep_caches(model, graph)
        )
        return OpenVinoDecoderSession(compiled, graph, effective)

    def compile_profiled(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> ProfiledSession:
        """Make a session whose compiled model counts time; see :class:`irbench.spi.ProfilingBackend`."""
        from irbench_openvino.profiling import PERF_COUNT, OpenVinoProfiledSession

        if device != "cpu":
            raise Refusal("OpenVINO's profile can be read on the CPU alone.", hint="Profile it on the CPU.")
        return OpenVinoProfiledSession(*self._compile(artifact, load, device, phases, {PERF_COUNT: True}))

    def _compile(
        self,
        artifact: Artifact,
        load: Load,
        device: str,
        phases: Phases,
        further: Mapping[str, Any],
        edit: Callable[[Any], None] | None = None,
    ) -> tuple[Any, Artifact, Mapping[str, Scalar]]:
        """Return a compiled model, its artifact, and what it really uses.

        ``further`` properties go before others, and ``edit`` changes the model before it is compiled.
        """
        core = runtime.core()
        target = _require(core, device)
        properties = {**compile_properties(load, core.get_property(target, "SUPPORTED_PROPERTIES")), **further}
        with phases("load"):
            model = _read_or_refuse(core, artifact)
        if fourier.may_transform(model):
            fourier.require_correct_reading(core, artifact)
        with phases("compile"), runtime.plain_reasons():
            if edit is not None:
                edit(model)
            compiled = core.compile_model(model, target, properties)
            granted = str(compiled.get_property(PRECISION).to_string())
            computed = precision.read_back(compiled, granted)
        if load.precision_required:
            precision.require(computed, granted, load.precision)
        effective: dict[str, Scalar] = {
            "precision": computed,
            "device": device,
            "version": self.describe().version,
            "device_name": str(core.get_property(target, "FULL_DEVICE_NAME")),
            **read_back(compiled, load.options),
            **(placement_facts(compiled, target) if device != "cpu" else {}),
        }
        return compiled, artifact, effective

    def advised_streams(self, artifact: Artifact, load: Load, device: str) -> int:
        """Compile a model with the hints of a load, and return what OpenVINO calls the optimal number of requests."""
        core = runtime.core()
        target = _require(core, device)
        properties = compile_properties(load, core.get_property(target, "SUPPORTED_PROPERTIES"))
        model = _read_or_refuse(core, artifact)
        with runtime.plain_reasons():
            compiled = core.compile_model(model, target, without_streams(properties))
        return int(compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))

    def usage(self, model: UsedModel, load: Load, device: str) -> Usage:
        """Return how OpenVINO is used for a load."""
        from irbench_openvino.usage import usage

        return usage(model, load, _DEVICES[device])


def _read_or_refuse(core: Any, artifact: Artifact) -> Any:
    try:
        return _read(core, artifact.path)
    except RuntimeError as error:
        fourier.require_correct_reading(core, artifact)
        raise runtime.refusal(error) from error


def _read(core: Any, path: Path) -> Any:
    """Read a model from its file, or from other bytes where that fails.

    OpenVINO has a reader for each, and that of bytes knows operators which that of files does not. From bytes it
    would look for weights that lie in other files beside whatever folder the process is in. It knows no functions.
    """
    try:
        return core.read_model(path)
    except RuntimeError:
        for other in (_whole, inline_functions):
            content = other(path)
            try:
                if content is not None:
                    return core.read_model(content)
            except RuntimeError:
                continue
        raise


def _whole(path: Path) -> bytes | None:
    with mapped(path) as data:
        return None if next(external_tensors(data), None) is not None else bytes(data)


def _require(core: Any, device: str) -> str:
    devices = tuple(core.available_devices)
    target = _DEVICES.get(device, "")
    if target and any(item.split(".")[0] == target for item in devices):
        return target
    raise Refusal(
        f"OpenVINO finds no {target or device} device on this machine.",
        hint=f"It finds: {', '.join(devices)}. An Intel GPU also needs its OpenCL driver (libOpenCL.so.1).",
    )
