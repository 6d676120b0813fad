"""What operators compute: a rule for each, one module for each kind of work.

An operation is one addition, multiplication, division, comparison or logical operation, and one evaluation of a
function such as exp, log, tanh, erf, sin, sqrt or pow. An operator counts as the operations of its definition, for each
element.
"""

from __future__ import annotations

from irbench.cost_model.known_tensors import Rule, Rules
from irbench.cost_model.rules.attention import ATTENTION
from irbench.cost_model.rules.elementwise import ELEMENTWISE, MOVEMENT
from irbench.cost_model.rules.normalisation import NORMALISATION, REDUCTIONS
from irbench.cost_model.rules.products import CONVOLUTIONS, PRODUCTS
from irbench.cost_model.rules.quantised import QUANTISED, RECURRENT
from irbench.onnx.operator_classes import CLASSIFIED_DOMAINS

__all__ = ["RULES", "rule_for"]

RULES: Rules = {
    **MOVEMENT,
    **ATTENTION,
    **CONVOLUTIONS,
    **ELEMENTWISE,
    **NORMALISATION,
    **PRODUCTS,
    **QUANTISED,
    **RECURRENT,
    **REDUCTIONS,
}


def rule_for(domain: str, op_type: str) -> Rule | None:
    """Return what counts the work of an operator; ``None`` where no rule exists."""
    return RULES.get(op_type) if domain in CLASSIFIED_DOMAINS else None
