"""The ONNX Runtime backend: description, probe and sessions.

ONNX Runtime computes in what the graph holds, and where it has no kernel for that, in fp32 between
inserted casts, without a word. A graph that is all fp32 leaves no such choice; of any other the
optimised graph is written out and read, because only it shows what the weights became, and
whether operations between quantisers became integer operations.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from irbench.onnx.reading.graph_precision import GraphPrecision, read_precision
from irbench.spec import Artifact, Load, Precision, Scalar
from irbench.spec.generation import GenerationGraph
from irbench.spi import (
    Array,
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
from irbench_ort import devices, openvino_provider
from irbench_ort.devices import computes, probe
from irbench_ort.options import BOUND, KNOWN, RESERVED, TUNABLE, OrtOptions, parse_options

if TYPE_CHECKING:
    from irbench_ort.profiling import Recording

_CHOSEN_BY_RUNTIME = ("fp8", "bf16", "fp16", "int8")


def require_convertible(graph: GraphPrecision, precision: Precision, computes: Callable[[Precision], bool]) -> None:
    """Refuse to compute a graph of fp32 in something else."""
    if _is_conversion(graph.narrowest, precision) and precision != "int8" and not computes(precision):
        raise Refusal(f"ONNX Runtime has no {precision} kernels on this device.", hint="Use `--precision fp32`.")
    _refuse_conversion(graph.narrowest, precision)


def _refuse_conversion(graph_precision: str, precision: Precision) -> None:
    """Refuse a precision that the runtime would have to convert a graph of fp32 to."""
    if not _is_conversion(graph_precision, precision):
        return
    raise Refusal(
        f"ONNX Runtime computes in {precision} only if the graph was converted to {precision}; this one is fp32.",
        hint=f"Measure a file that irbench optimize --precision {precision} wrote, or let irbench run convert the"
        f" graph: --optimize {precision}",
    )


def _is_conversion(graph_precision: str, precision: Precision) -> bool:
    return graph_precision == "fp32" and precision not in ("native", "fp32")


def require_computed(computed: str, artifact: Artifact, load: Load, device: str) -> None:
    """Refuse a precision that the session does not compute in; what it computes in can be asked for."""
    if not load.precision_required or load.precision in ("native", computed):
        return
    possible = computed if computed in get_args(Precision) else "native"
    converted = artifact.variant.endswith(load.precision) and bool(artifact.variant)
    raise Refusal(
        f"ONNX Runtime computes this graph in {computed} on {device}, not in {load.precision}.",
        hint=f"Leave {artifact.variant} out of `--optimize`." if converted else f"Use `--precision {possible}`.",
    )


def _must_be_read_back(graph: GraphPrecision) -> bool:
    """Whether the runtime may choose to compute this graph in something else."""
    return graph.narrowest in _CHOSEN_BY_RUNTIME


def _write_optimised_graph(settings: Any, path: Path) -> None:
    settings.optimized_model_filepath = str(path)
    for key, value in (("file_name", f"{path.name}.weights"), ("min_size_in_bytes", "1024")):
        settings.add_session_config_entry(f"session.optimized_model_external_initializers_{key}", value)


def read_back(graph: GraphPrecision, written: Path | None) -> str:
    """Return what the session computes in, from the graph it wrote where it wrote one.

    A graph that is quantised around floating-point operations computes in fp32 unless the runtime made integer
    operations of them.
    """
    if written is None:
        return graph.narrowest
    computed = read_precision(written)
    return "fp32" if graph.quantised and not computed.multiplies_integers else computed.dominant


_DOMAINS = ("com.microsoft",)  # its own operators, beside those of ONNX
_DISTRIBUTIONS = ("onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime")  # all provide the module onnxruntime


_SPINNING = "session.intra_op.allow_spinning"


class OrtBackend:
    """ONNX Runtime.

    Args:
        optimised: Whether graphs are optimised unless an option says otherwise.
    """

    name = "ort"
    consumes = ("onnx",)

    def __init__(self, *, optimised: bool = True) -> None:
        self._default_level = "all" if optimised else "disabled"

    def describe(self) -> Description:
        """Say which distribution is installed, from metadata."""
        for distribution in _DISTRIBUTIONS:
            try:
                return self._description(distribution, version(distribution))
            except PackageNotFoundError:
                continue
        return self._description("onnxruntime", None)

    def probe(self) -> Availability:
        """Compile a tiny graph in each precision on each device."""
        return probe(self)

    def check_load(self, load: Load, device: str, graph_precision: str) -> None:
        """Refuse options with impossible values, and precisions that the graph would have to be converted to."""
        if parse_options(load.options, device, load.precision).replays and load.streams > 1:
            raise Refusal(
                f"A CUDA graph holds one inference, and {load.streams} are to be in flight.",
                hint="Use `--streams 1`; each process of `--instances` has a graph of its own.",
            )
        if load.precision_required and device not in devices.CONVERTING:
            _refuse_conversion(graph_precision, load.precision)

    def import_runtime(self, load: Load, device: str) -> None:
        """Import onnxruntime, and refuse options and devices it does not know."""
        import onnxruntime

        parse_options(load.options, device, load.precision)
        devices.require(onnxruntime, device)

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Make a session; see :class:`irbench.spi.Backend`."""
        from irbench_ort.session import OrtSession

        session, effective = self._create(artifact, load, device, phases)
        return OrtSession(session, artifact, device, effective)

    def compile_decoder(
        self, graph: GenerationGraph, load: Load, device: str, phases: Phases, sample: Feed
    ) -> DecoderSession:
        """Make a session that keeps the caches of a decoder; see :class:`irbench.spi.CacheKeeper`."""
        from irbench_ort.decoder import OrtDecoderSession
        from irbench_ort.shared_caches import write_shared

        if parse_options(load.options, device, load.precision).replays:
            raise Refusal(
                "A CUDA graph needs fixed shapes, and the caches of a decoder grow.",
                hint="Leave ort.cuda.enable_cuda_graph out.",
            )
        with tempfile.TemporaryDirectory(prefix="irbench-ort-") as folder:
            with phases("load"):
                shared = write_shared(graph, sample, Path(folder)) if device == "cpu" else None
            decoder = graph.artifact if shared is None else replace(graph.artifact, path=shared)
            session, effective = self._create(decoder, load, device, phases)
        memory = "cuda" if device == "cuda" else "cpu"
        return OrtDecoderSession(session, graph, memory, effective, shares=shared is not None)

    def compile_profiled(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> ProfiledSession:
        """Make a session that records its kernels; see :class:`irbench.spi.ProfilingBackend`."""
        from irbench_ort.profiling import OrtProfiledSession, Recording

        if device in devices.CONVERTING:
            raise Refusal(
                "ONNX Runtime does not time the operators that OpenVINO computes for it.",
                hint="Profile the backend openvino instead.",
            )
        recording = Recording()
        try:
            session, effective = self._create(artifact, load, device, phases, recording)
        except BaseException:
            recording.remove()
            raise
        return OrtProfiledSession(session, artifact, device, effective, recording)

    def _create(
        self, artifact: Artifact, load: Load, device: str, phases: Phases, recording: Recording | None = None
    ) -> tuple[Any, Mapping[str, Scalar]]:
        from irbench_ort.session import create_session

        options = parse_options(load.options, device, load.precision)
        with phases("load"):
            graph = read_precision(artifact.path)
            if load.precision_required and device not in devices.CONVERTING:
                require_convertible(graph, load.precision, lambda other: computes(self, device, other))
        with phases("compile"), tempfile.TemporaryDirectory(prefix="irbench-ort-") as folder:
            # a graph of which OpenVINO compiled parts cannot be written
            is_read_back = _must_be_read_back(graph) and device not in devices.CONVERTING
            written = Path(folder) / "optimised.onnx" if is_read_back else None
            written = written if recording is None else recording.graph
            settings = self._settings(load, options, device, written)
            if recording is not None:
                recording.switch_on(settings)
            before = _threads()
            providers = devices.providers(device, load, options.provider)
            session, lowered = create_session(artifact.path, settings, providers, Path(folder))
            pool_threads = len(_threads() - before)
            computed = read_back(graph, written if is_read_back else None)
        assigned = devices.read_back(session, device, artifact)
        if computed == "fp32" and device == "cuda" and devices.uses_tf32(session):
            computed = "tf32"
        if device in devices.CONVERTING:
            computed = openvino_provider.computed_precision(graph, partial(_product, settings, providers))
        require_computed(computed, artifact, load, device)
        effective: dict[str, Scalar] = {
            "precision": computed,
            "threads": pool_threads + load.streams if device == "cpu" else load.threads,
            "streams": load.streams,
            "device": device,
            "version": self.describe().version,
            "graph_optimization_level": options.level or self._default_level,
            **assigned,
            **lowered,
            **_read_back(settings, options),
        }
        return session, effective

    def usage(self, model: UsedModel, load: Load, device: str) -> Usage:
        """Return how ONNX Runtime is used for a load."""
        from irbench_ort.usage import usage

        options = parse_options(load.options, device, load.precision)
        return usage(model, load, device, options, options.level or self._default_level, _entries_of(device, options))

    def _description(self, distribution: str, installed: str | None) -> Description:
        return Description(
            self.name,
            distribution,
            installed,
            devices.DEVICES,
            install="" if installed else install_command("onnxruntime"),
            nvidia_devices=("cuda",),
            domains=_DOMAINS,
            options=KNOWN,
            reserved=RESERVED,
            tunable=TUNABLE,
            bound_options=BOUND,
            files=(),
            variables=("ORT_", "ONNX"),
            reference_rank=0,
            reference_name=f"{self.name} with optimisations off",
        )

    def _settings(self, load: Load, options: OrtOptions, device: str, written: Path | None) -> Any:
        """Return the SessionOptions of a load.

        The callers of ``run`` compute too, so of ``threads`` in all, each stream's caller is one and the rest
        form the pool that they share; ``intra_op_num_threads`` counts the pool and one caller.
        """
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 0 if load.threads is None else max(1, load.threads - load.streams + 1)
        settings.inter_op_num_threads = 1
        settings.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        settings.graph_optimization_level = _level(options.level or self._default_level)
        for name, value in options.attributes:
            setattr(settings, name, value)
        for key, text in options.config_entries:
            settings.add_session_config_entry(key, text)
        if device != "cpu":
            devices.record_assignment(settings, device)
        for key, text in _entries_of(device, options).items():
            settings.add_session_config_entry(key, text)
        if written is not None:
            _write_optimised_graph(settings, written)
        return settings


def _read_back(settings: Any, options: OrtOptions) -> Mapping[str, Scalar]:
    attributes = {name: bool(getattr(settings, name)) for name, _ in options.attributes}
    return {**attributes, **{key: settings.get_session_config_entry(key) for key, _ in options.config_entries}}


def _entries_of(device: str, options: OrtOptions) -> Mapping[str, str]:
    """Return configuration entries that a device needs, but for those that the user set.

    Beside OpenVINO's threads those of ONNX Runtime's pool must not spin: together they are more than were asked for.
    """
    entries = {_SPINNING: "0"} if device in devices.CONVERTING else {}
    return {key: text for key, text in entries.items() if key not in dict(options.config_entries)}


def _product(settings: Any, providers: list[Any], path: Path, x: Array) -> Array:
    import onnxruntime

    session: Any = onnxruntime.InferenceSession(str(path), settings, providers=providers, enable_fallback=0)
    answer: Array = session.run(None, {"x": x})[0]
    return answer


def _level(name: str) -> Any:
    import onnxruntime

    levels = onnxruntime.GraphOptimizationLevel
    return {
        "disabled": levels.ORT_DISABLE_ALL,
        "basic": levels.ORT_ENABLE_BASIC,
        "extended": levels.ORT_ENABLE_EXTENDED,
        "all": levels.ORT_ENABLE_ALL,
    }[name]


def _threads() -> frozenset[str]:
    """Return this process's threads: what a new session adds is its pool, whatever was asked for.

    They are told by their numbers: others may end meanwhile, which would make a pool look smaller.
    """
    return frozenset(entry.name for entry in Path("/proc/self/task").iterdir())
