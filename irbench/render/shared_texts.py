"""Sentences that several views share: failures, exported bundles, operator classes and accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from irbench.core.quantities import error_size
from irbench.core.record import Failure
from irbench.errors import one_line
from irbench.measure.clock import utc_now
from irbench.notices import ExportNotice
from irbench.onnx.operator_classes import OperatorClass
from irbench.spec import RANDOM_DRAWS, Accuracy, AccuracyLimit, Bound, Bundle, Cell

_BOUND_TEXTS: dict[Bound, str] = {"at-least": "at least", "at-most": "at most"}


def remedy(failure: Failure) -> str:
    """Return what helps against a failure; an empty text where nobody knows."""
    if failure.budget_allowed_s is None:
        return failure.hint or ""
    allowed_s = failure.budget_allowed_s
    longer = f"--deadline {2 * allowed_s:.0f}s"
    return f"The budget allowed it {allowed_s:.0f} s. If the model is really that slow, give it more: {longer}"


def failure_sentence(failure: Failure) -> str:
    """Return what went wrong, and what helps where that is known."""
    return f"{failure.message.rstrip('.')}. {remedy(failure)}".rstrip()


def export_notice_text(notice: ExportNotice) -> str:
    """Return a notice in words; one that speaks against the figures begins with ``warning:``."""
    return f"{'warning: ' if notice.is_warning else ''}{notice.text(utc_now())}"


def export_problems(bundle: Bundle) -> tuple[str, ...]:
    """Return what is unusual in a model that was exported all the same, as sentences without a full stop."""
    draws, layers = bundle.details.get(RANDOM_DRAWS), bundle.details.get("activation_problems")
    drawn = f"it draws random numbers ({draws}), so that its outputs cannot be compared" if draws else ""
    trained = bundle.details.get("training_layers")
    in_training = f"layers called with training=True ({trained}) run in inference mode anyway, as in model.predict"
    problems = (drawn, in_training if trained else "", str(layers or ""))
    return tuple(one_line(problem) for problem in problems if problem)


def agreement(bundle: Bundle) -> str:
    """Return how well an exported graph agrees with the original, in a few words."""
    error = bundle.details.get("max_rel_error")
    if RANDOM_DRAWS in bundle.details:
        return "draws random numbers: only shapes compared"
    return f"agrees with the original to {error_size(float(error or 0))}"


def unconfined_root_text(variable: str) -> str:
    """Return the warning that a model from elsewhere is run with the rights of root."""
    return (
        "warning: models of others run with all rights of root here: set"
        f" {variable}=1 to confine their workers, or {variable}=0 if you trust the model"
    )


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


def measure_text(limit: AccuracyLimit) -> str:
    """Return what is measured: ``top-1 agreement``, or the user's function."""
    return limit.function_name or "top-1 agreement"


def accuracy_text(value: float, limit: AccuracyLimit) -> str:
    """Return a value by the measure of a limit: ``99.2 %``, or ``0.913`` of a user's function."""
    return f"{value:.4g}" if limit.function else f"{100 * value:.4g} %"


def limit_text(limit: AccuracyLimit) -> str:
    """Return what is asked for: ``top-1 agreement at least 99 %``."""
    return f"{measure_text(limit)} {_BOUND_TEXTS[limit.bound]} {accuracy_text(limit.limit, limit)}"


def accuracy_line(cell: Cell, accuracy: Accuracy | Failure) -> str:
    """Return what came out for the rows that answer as one does: ``ort bf16: top-1 agreement 99.2 %``."""
    from irbench.optimizer import UNOPTIMIZED  # tables of stored runs do without

    level = cell.artifact.variant if cell.artifact is not None else ""
    graph = "" if level in ("", UNOPTIMIZED) else f"+{level}"
    varied = (f"{key}={value}" for key, value in cell.load.varied.items())
    name = " ".join((f"{cell.address}{graph}", cell.load.precision, *varied))
    if isinstance(accuracy, Failure):
        return f"{name}: {accuracy.message}"
    excluded = "" if accuracy.is_within_limit else ", excluded"
    return f"{name}: {measure_text(accuracy.limit)} {accuracy_text(accuracy.value, accuracy.limit)}{excluded}"
