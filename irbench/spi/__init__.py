"""What a backend, model or exporter author reads: the whole interface between irbench and a runtime.

A backend compiles and runs. It never times, warms up, loops, prints or decides;
the harness does all of that, in the same way for every runtime. Protocols rather
than base classes are used so that a plugin needs to import nothing at run time and
inherits no behaviour; annotate the instance (``cpu: Backend = MyBackend()``) and the
type checker checks that it conforms. ``docs/extending.md`` shows a whole backend and a whole exporter, and
:mod:`irbench.testing` tests whether they keep the contract.

Entry points find the parts:

=====================  ==================================================================
group                  names an object of type
=====================  ==================================================================
``irbench.backends``   :class:`Backend`
``irbench.references`` :class:`Backend` whose answers may be trusted as expected
``irbench.models``     a function without parameters that yields each :class:`ModelSource`
``irbench.exporters``  :class:`Exporter`
``irbench.passes``     :class:`Pass`
``irbench.quantizers`` :class:`Quantizer`
=====================  ==================================================================
"""

from irbench.spi.backend import (
    Array,
    AsyncSlot,
    Availability,
    Backend,
    CellContext,
    Description,
    Feed,
    LoadChecker,
    Outputs,
    Phases,
    Refusal,
    Session,
    Slot,
    StreamAdvisor,
    Usage,
    UsageWriter,
    UsedModel,
)
from irbench.spi.decoders import CacheKeeper, DecoderSession, DecoderSlot
from irbench.spi.graphs import Pass, QuantizationMethod, QuantizationRequest, Quantizer
from irbench.spi.model_sources import (
    Acceptance,
    Exporter,
    ExporterDescription,
    ExportRequest,
    InMemoryExporter,
    ModelInMemory,
    ModelSource,
)
from irbench.spi.profiling import (
    GpuActivity,
    InferenceProfile,
    OperatorTime,
    ProfiledSession,
    ProfilingBackend,
    TensorShape,
)
from irbench.spi.training import TrainingBackend, TrainingSession
from irbench.system.home import home
from irbench.system.installation import extra_command, install_command, pip_command

__all__ = [
    "Acceptance",
    "Array",
    "AsyncSlot",
    "Availability",
    "Backend",
    "CacheKeeper",
    "CellContext",
    "DecoderSession",
    "DecoderSlot",
    "Description",
    "ExportRequest",
    "Exporter",
    "ExporterDescription",
    "Feed",
    "GpuActivity",
    "InMemoryExporter",
    "InferenceProfile",
    "LoadChecker",
    "ModelInMemory",
    "ModelSource",
    "OperatorTime",
    "Outputs",
    "Pass",
    "Phases",
    "ProfiledSession",
    "ProfilingBackend",
    "QuantizationMethod",
    "QuantizationRequest",
    "Quantizer",
    "Refusal",
    "Session",
    "Slot",
    "StreamAdvisor",
    "TensorShape",
    "TrainingBackend",
    "TrainingSession",
    "Usage",
    "UsageWriter",
    "UsedModel",
    "extra_command",
    "home",
    "install_command",
    "pip_command",
]
