"""What is asked of a search for the smallest graph that shows a difference."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.features.reduce.files import INPUTS_FILE, MODEL_FILE
from irbench.features.reduce.options import MIN_SHARE, REDUCE_BUDGET_S, ReduceSettings
from irbench.options.expectation import Expectation, Failing, SlowerThan, WrongAnswers
from irbench.options.run import RunOptions
from irbench.requests.resolve import resolve_backends
from irbench.system.file_states import is_folder

_ONE_VALUE = ("batch", "precision", "threads")
_OF_MEASUREMENTS = ("batch", "threads", "cpus", "io", "seed", "deadline", "no_lock", "results")
_ADVICE = {"batch": "Give the shape of an input: --shape NAME=8x3x224x224."}


@dataclass(frozen=True)
class ReduceOptions:
    """What is searched.

    Attributes:
        model: As the user named it.
        expectation: What the smallest graph must still show.
        output: Folder for its files; ``None`` for one that is named after the model.
        budget_s: For the whole search.
        min_share: Of the time that the whole graph loses, what a part must lose at least, as a fraction of 1.
        run: The inputs, and how the graph is measured.
    """

    model: str
    expectation: Expectation
    output: Path | None = None
    budget_s: float = REDUCE_BUDGET_S
    min_share: float = MIN_SHARE
    run: RunOptions = field(default_factory=RunOptions)


def reduce_options(model: str, settings: ReduceSettings, run: RunOptions) -> ReduceOptions:
    """Return what is searched.

    Raises:
        IrbenchError: No difference is expected, or several are.
    """
    return ReduceOptions(model, _expectation(settings), settings.output, settings.budget, settings.min_share, run)


def _expectation(settings: ReduceSettings) -> Expectation:
    given = [
        *([settings.expect] if settings.expect is not None else []),
        *([WrongAnswers(settings.expect_wrong)] if settings.expect_wrong is not None else []),
        *([Failing(settings.expect_failure)] if settings.expect_failure is not None else []),
    ]
    if len(given) == 1:
        return given[0]
    hint = "Give one: --expect 'ort slower than openvino by 1.5x', --expect-wrong openvino or --expect-failure ort."
    raise IrbenchError("Several differences are expected." if given else "No difference is expected.", hint=hint)


def refuse_several_values(run: RunOptions) -> None:
    """Refuse options that ask for more than one row of each backend.

    Raises:
        IrbenchError: One of them does.
    """
    for name in _ONE_VALUE:
        if len(getattr(run, name) or ()) > 1:
            raise IrbenchError(f"--{name} takes one value in a search.", hint="Search once for each value.")


def refuse_ineffective(options: ReduceOptions) -> None:
    """Refuse options of a measurement where nothing is timed.

    Raises:
        IrbenchError: One of them was given.
    """
    if isinstance(options.expectation, SlowerThan):
        return
    usual = RunOptions()
    given = [name for name in _OF_MEASUREMENTS if getattr(options.run, name) != getattr(usual, name)]
    if options.min_share != MIN_SHARE:
        given.append("min_share")
    if given:
        option = given[0].replace("_", "-")
        raise IrbenchError(
            f"--{option} does not apply: nothing is timed where answers or failures are searched for.",
            hint=_ADVICE.get(option, "Leave it out."),
        )


def expected_backends(expectation: Expectation) -> tuple[BackendAddress, ...]:
    """Return the backends that are expected to differ.

    Raises:
        IrbenchError: One is unknown, not installed, or reads no ONNX; or the two are one.
    """
    found = resolve_backends(expectation.backends)
    if len(found) < len(expectation.backends):
        raise IrbenchError(f"{found[0]} cannot be slower than itself.", hint="Name two backends.")
    for address in found:
        if "onnx" not in registry.backend(address.name).consumes:
            able = [name for name in registry.installed_backends() if "onnx" in registry.backend(name).consumes]
            raise IrbenchError(
                f"{address} does not read ONNX graphs, and a reduced graph is one.",
                hint=f"Backends that do: {', '.join(able)}.",
            )
        registry.require_installed(address.name)
    return found


def repeat_command(options: ReduceOptions) -> tuple[str, ...]:
    """Return the command that shows the difference on the files of the smallest graph, in their folder."""
    backends = ",".join(options.expectation.backends)
    files = (MODEL_FILE, "--data", INPUTS_FILE, "--backends", backends)
    run = options.run
    if not (isinstance(options.expectation, SlowerThan) or run.precision or run.set):
        return ("irbench", "verify", *files)
    words: list[str] = []
    for name in ("precision", "threads", "cpus"):
        words += [f"--{name}", ",".join(map(str, given))] if (given := getattr(run, name)) else []
    words += ["--io", run.io] if run.io != "copy" else []
    for backend, settings in run.set.items():
        words += [word for key, value in settings.items() for word in ("--set", f"{backend}.{key}={value}")]
    return ("irbench", "run", *files, *words)


def output_folder(options: ReduceOptions) -> Path:
    """Return the folder for the files, which is empty or not there yet.

    Raises:
        IrbenchError: It holds something, is a file, or cannot be made.
    """
    name = Path(options.model).stem if options.model.endswith(".onnx") else Path(options.model).name
    folder = options.output or Path(f"{name}-reduced")
    try:
        is_there = folder.exists()
    except OSError as error:  # a name too long for any folder
        raise IrbenchError(
            f"{folder} cannot be made: {error.strerror}.", hint="Name another folder with -o."
        ) from error
    if is_there and not (is_folder(folder) and not any(folder.iterdir())):
        raise IrbenchError(
            f"{folder} {'is not empty' if is_folder(folder) else 'is a file'}.",
            hint="Remove it, or name another folder with -o.",
        )
    return folder
