"""What is said of models that were exported."""

from __future__ import annotations

from irbench.core.quantities import error_size
from irbench.errors import one_line
from irbench.measure.clock import utc_now
from irbench.notices import ExportNotice
from irbench.spec import RANDOM_DRAWS, Bundle


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
