"""The backends ``tf`` and ``tf-xla``: one frozen graph, run by TensorFlow's kernels or compiled by XLA."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from irbench.spec import Artifact, Load
from irbench.spi import Availability, Description, Phases, ProfiledSession, Refusal, Session, install_command
from irbench_tf import environment, lean, precision
from irbench_tf.operator_kinds import TENSORFLOW_KINDS, XLA_KINDS
from irbench_tf.options import KNOWN, parse_options

if TYPE_CHECKING:
    from irbench_tf.compiler import Job
    from irbench_tf.session import GraphSession

_DISTRIBUTION = "tensorflow"
_REQUIRED = ("tensorflow", "tf2onnx")
_DEVICES = ("cpu", "gpu")


class TensorFlowBackend:
    """Runs artifacts of kind ``tf-graph`` on TensorFlow.

    Attributes:
        name: ``tf`` or ``tf-xla``.
        consumes: Artifact kinds it reads.
    """

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
        if not lean.installed():
            raise Refusal("TensorFlow is not installed.", hint=install_command(*_REQUIRED))
        environment.apply_environment(environment.environment_for(load, options, device))
        if device == "cpu":
            lean.import_lean()
        else:
            lean.import_full()

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases, /) -> Session:
        """Load the graph and make a session of it; XLA compiles here, for the shapes of ``artifact``."""
        return self._compile(artifact, load, device, phases)[1]

    def compile_profiled(self, artifact: Artifact, load: Load, device: str, phases: Phases, /) -> ProfiledSession:
        """Compile as :meth:`compile` does; the session can be traced."""
        from irbench_tf.profiling import ProfiledGraphSession

        if device != "cpu":
            raise Refusal(f"{self.name} can be profiled on the CPU alone.", hint="Profile it on the CPU.")
        return ProfiledGraphSession(*self._compile(artifact, load, device, phases))

    def _compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> tuple[Job, GraphSession]:
        from irbench_tf.compiler import Job, compile_graph, load_graph

        job = Job(artifact, load, device, self._jit)
        with phases("load"):
            graph = load_graph(job)
        with phases("compile"):
            return job, compile_graph(job, graph)
