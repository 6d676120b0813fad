"""The words of what a converted graph falls short in beside the same graph in fp32."""

from __future__ import annotations

from irbench.notices import Facts
from irbench.quantities import apart
from irbench.render.conversion_texts import inputs_text


def disagreement_text(facts: Facts) -> str:
    """Return what was measured: ``top-1 agreement 63 %``.

    Args:
        facts: Those of :class:`irbench.spec.Disagreement`.
    """
    words = _top1(facts) if facts["measure"] == "top1-agreement" else f"{_max_rel(facts)} against fp32"
    return f"{words}{_measured_on(facts)}"


def missed_limit_text(facts: Facts) -> str:
    """Return what was measured and the limit that it misses: ``top-1 agreement 63 % on 64 inputs, below 90 %``."""
    if facts["measure"] == "top1-agreement":
        share, least = apart(facts["value"], facts["limit"], _percent, 3)
        return f"top-1 agreement {share}{_measured_on(facts)}, below {least}"
    error, most = apart(facts["value"], facts["limit"], _significant, 2)
    return f"max err {error}{_measured_on(facts)}, above {most}"


def _top1(facts: Facts) -> str:
    return f"top-1 agreement {_percent(facts['value'])}"


def _max_rel(facts: Facts) -> str:
    return f"max err {facts['value']:.2g}"


def _measured_on(facts: Facts) -> str:
    samples = facts.get("samples")
    return "" if samples is None else f" on {inputs_text(samples, facts['source'])}"


def _percent(share: float, digits: int = 3) -> str:
    return f"{share * 100:.{digits}g} %"


def _significant(value: float, digits: int) -> str:
    return f"{value:.{digits}g}"
