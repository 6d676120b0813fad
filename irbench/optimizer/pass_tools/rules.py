"""Apply rules of onnxscript's rewriter until none matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from irbench.optimizer.pass_tools.edit import clean, is_node, scalar

if TYPE_CHECKING:
    import onnx_ir as ir

ANY = {"_allow_other_attributes": True, "_allow_other_inputs": True}
"""For a node whose attributes and further inputs the check looks at."""

ORDERS: tuple[Callable[[Any, Any], tuple[Any, Any]], ...] = (lambda a, b: (a, b), lambda a, b: (b, a))
"""The ways to write two operands. The last operation of a pattern cannot be :func:`any_order`: a rule for each."""


@dataclass(frozen=True)
class Rule:
    """What is looked for and what takes its place.

    onnxscript sees to it that nothing inside the pattern is read elsewhere or is an output of the graph.

    Attributes:
        pattern: ``pattern(op, *values)`` builds the nodes; values that are not built may be anything. A constant of
            one element is the second operand of a sum or product, never the first.
        replacement: ``replacement(op, **values)`` builds the new ones.
        check: ``check(context, **values)`` says whether the match counts; constants are compared here, because they
            may have any number of axes of size one.
    """

    pattern: Callable[..., Any]
    replacement: Callable[..., Any]
    check: Callable[..., bool]


def apply_rules(model: ir.Model, rules: Iterable[Rule]) -> bool:
    """Rewrite a model, branches and bodies of loops too, until no rule fits; types and shapes must have been inferred.

    What inference did not find stays unknown, and a check refuses it: unknown never counts as absent, as one or as
    equal. Functions stay as they are: what a function reads has the types and shapes of each call.
    """
    from onnxscript.rewriter import RewriteRuleSet

    every = RewriteRuleSet([_compiled(rule) for rule in rules])
    _put_numbers_second(model)
    changed = False
    with _functions_apart(model):
        while every.apply_to_model(model):
            changed = True
    if changed:
        clean(model)
    return changed


def _compiled(rule: Rule) -> Any:
    """Return what the rewriter makes of a rule: once for each, because it writes out every form of a pattern."""
    from onnxscript.rewriter import RewriteRule

    key = tuple(map(_identity, (rule.pattern, rule.replacement, rule.check)))
    if key not in _COMPILED:
        _COMPILED[key] = RewriteRule(rule.pattern, rule.replacement, rule.check)
    return _COMPILED[key]


_COMPILED: dict[tuple[object, ...], Any] = {}


def _identity(function: object) -> object:
    """Return what equal functions share, those with the same arguments bound too."""
    if not isinstance(function, partial):
        return function
    bound = tuple(map(_identity, function.args)), tuple(sorted(function.keywords.items()))
    return (_identity(function.func), *bound)


@contextmanager
def _functions_apart(model: ir.Model) -> Iterator[None]:
    """Take a model's functions out of it for a while: the rewriter applies rules to them too."""
    functions = dict(model.functions)
    model.functions.clear()
    try:
        yield
    finally:
        model.functions.update(functions)


def _put_numbers_second(model: ir.Model) -> None:
    """Spare the patterns half of their forms: onnxscript's own option tries every order of every operation."""
    for node in model.graph.all_nodes():
        if is_node(node.outputs[0], "Add", "Mul") and scalar(node.inputs[0]) is not None:
            first, second = node.inputs
            node.replace_input_with(0, second)
            node.replace_input_with(1, first)


def either(*values: Any) -> Any:
    """Return what matches the first of some patterns that fits; a value only another one names is then ``None``."""
    from onnxscript.rewriter.pattern import OrValue

    return OrValue(list(values))


def any_order(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return what matches a commutative operation on two values."""
    return either(*(operation(*pair(a, b)) for pair in ORDERS))


def holds(value: ir.Value | None, number: float, beside: ir.Value, tolerance: float = 1e-4) -> bool:
    """Whether a value is a constant of one element that is about ``number`` and stretches no result with ``beside``."""
    constant = number_beside(value, beside)
    return constant is not None and abs(constant - number) <= tolerance * abs(number)


def number_beside(value: ir.Value | None, other: ir.Value) -> float | None:
    """Return the number that a constant of one element holds, if it has no more axes than the value it meets.

    With more, it would give the result of an operation on both those axes too. Where it is not known how many axes the
    other value has, the constant must have none.
    """
    constant = None if value is None else value.const_value
    axes = 0 if other.shape is None else len(other.shape)
    return scalar(value) if constant is not None and len(constant.shape) <= axes else None
