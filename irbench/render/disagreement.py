"""The words of what a converted graph falls short in beside the same graph in fp32."""

from __future__ import annotations

from irbench.notices import Facts

__all__ = ["disagreement_text", "missed_limit_text"]


def disagreement_text(facts: Facts) -> str:
    """Return what was measured: ``top-1 agreement 63 %``.

    Args:
        facts: Those of :class:`irbench.spec.Disagreement`.
    """
    if facts["measure"] == "stored-words":
        return str(facts["words"])
    if facts["measure"] == "top1-agreement":
        return f"top-1 agreement {_percent(facts['value'])}"
    return f"max err {facts['value']:.2g} against fp32"


def missed_limit_text(facts: Facts) -> str:
    """Return what was measured and the limit that it misses: ``top-1 agreement 63 %, below 90 %``."""
    if facts["measure"] == "top1-agreement":
        return f"{disagreement_text(facts)}, below {_percent(facts['limit'])}"
    return f"max err {facts['value']:.2g}, above {facts['limit']:g}"


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
