"""Words for what the first run of a model is going to do."""

from __future__ import annotations

from collections.abc import Sequence


def first_run_text(model: str, backends: Sequence[str]) -> str:
    """Return what a run is going to do that names no model where nothing was exported yet."""
    return (
        f"No model has been exported yet: this exports {model} from TensorFlow (up to a minute), then measures it"
        f" on {', '.join(backends)} (up to 90 s, unless options say otherwise)."
    )
