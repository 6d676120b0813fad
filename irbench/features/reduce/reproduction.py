"""The files of a reduced graph, and what shows its difference again: a command of irbench, and programs without it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.features.reduce.expectation import SlowerThan
from irbench.features.reduce.options import ReduceOptions
from irbench.features.reduce.report import Criterion, TensorFacts
from irbench.options.option import command_words
from irbench.options.run import RUN
from irbench.spec import Load, TensorSpec
from irbench.spi import Refusal, Usage, UsageWriter, UsedModel

MODEL_FILE = "reduced.onnx"
INPUTS_FILE = "inputs.npz"
EXPECTED_FILE = "expected.npz"
"""What the reference answers; not written where an output is of a type that NumPy cannot store."""
REPORT_FILE = "report.md"


_TIMED_S = 5.0
_FEWEST_CALLS, _MOST_CALLS = 11, 200


def script(usage: Usage, criterion: Criterion, outputs: Sequence[TensorFacts] = (), p50_ms: float | None = None) -> str:
    """Return a program for the folder of a reduced graph.

    It prints the median time of a call, or how far each output is from the expected one. Where the runtime fails, it
    fails as it did.

    Args:
        usage: How the backend's runtime is called, one call at a time.
        criterion: What the graph shows.
        outputs: Of the graph, where the expected ones are stored.
        p50_ms: How long a call takes; decides how many are timed.
    """
    variables = ["import os", "", f"os.environ.update({dict(usage.environment)!r})", ""] if usage.environment else []
    imports = [*(["import timeit", ""] if criterion == "slower" else []), "import numpy", usage.imports]
    staged = [
        f'caller = Caller(load("{MODEL_FILE}"))',
        f'caller.stage(dict(numpy.load("{INPUTS_FILE}")))',
    ]
    if criterion == "slower":
        shown = _timing(p50_ms)
    elif criterion == "wrong" and outputs:
        shown = ["caller.run()", *_difference(outputs)]
    else:
        shown = ["caller.run()"]
    definitions = [f"\n\n{usage.load}", f"\n\n{usage.caller}\n\n"]
    return "\n".join((*variables, *imports, *definitions, *staged, *shown))


def _timing(p50_ms: float | None) -> list[str]:
    calls = _MOST_CALLS if not p50_ms else min(_MOST_CALLS, max(_FEWEST_CALLS, round(1e3 * _TIMED_S / p50_ms)))
    return [
        f"seconds = timeit.repeat(caller.run, number=1, repeat={calls})",
        f'print(f"median of {calls} calls: {{1e3 * numpy.median(seconds):.4g}} ms")',
    ]


def _difference(outputs: Sequence[TensorFacts]) -> list[str]:
    """Return lines that compare outputs with the expected ones."""
    are_numbers = all(tensor.dtype != "string" for tensor in outputs)
    shown = (
        """\
        off = numpy.where(value == right, 0, abs(value - 1.0 * right)).max(initial=0)
        print(f"{name}: off by {off} of {abs(1.0 * right).max(initial=0)}")"""
        if are_numbers
        else """\
        print(f"{name}: {(value != right).sum()} of {right.size} values differ")"""
    )
    return [
        f'for (name, right), value in zip(numpy.load("{EXPECTED_FILE}").items(), map(numpy.asarray, caller.fetch())):',
        "    if value.shape != right.shape:",
        '        print(f"{name}: shape {value.shape} instead of {right.shape}")',
        "    else:",
        shown,
    ]


def repeat_command(options: ReduceOptions) -> tuple[str, ...]:
    """Return the command that shows the difference on the files of the smallest graph, in their folder."""
    backends = ",".join(options.expectation.backends)
    files = (MODEL_FILE, "--data", INPUTS_FILE, "--backends", backends)
    run = options.run
    if not (isinstance(options.expectation, SlowerThan) or run.precision or run.set):
        return ("irbench", "verify", *files)
    asked = {name: RUN.options[name] for name in ("precision", "threads", "cpus", "io", "set")}
    return ("irbench", "run", *files, *command_words(vars(run), asked))


def code_without_irbench(
    loads: Mapping[BackendAddress, Load], inputs: Sequence[TensorFacts], outputs: Sequence[TensorFacts]
) -> Iterator[tuple[str, Usage]]:
    """Yield each backend that tells how its runtime is used, with Python that runs the reduced graph as it was run."""
    model = UsedModel(tuple(map(_spec, inputs)), tuple(map(_spec, outputs)))
    for address, load in loads.items():
        backend = registry.backend(address.name)
        if isinstance(backend, UsageWriter):
            with contextlib.suppress(Refusal):  # NumPy has no such type
                yield str(address), backend.usage(model, load, address.device)


def _spec(tensor: TensorFacts) -> TensorSpec:
    return TensorSpec(tensor.name, tensor.dtype, tensor.shape)
