"""What a source names: a function of JAX with its example inputs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irbench.errors import IrbenchError, first_line
from irbench.spi import ExportRequest
from irbench.spi.user_functions import blaming_function, call_user_function, import_first

_HOW_INPUTS_ARE_GIVEN = (
    "Return (function, example_inputs), with a tuple of arrays of JAX or NumPy; a third element names dynamic"
    ' dimensions besides the batch: {"tokens": {1: "length"}}. Bind parameters with functools.partial, for example.'
)


@dataclass(frozen=True)
class Loaded:
    """A function and what it is called with.

    Attributes:
        name: What tables call it.
        function: Jitted or not.
        inputs: Example inputs by the names of its parameters, as arrays of JAX.
        dimensions: Names of dynamic dimensions by axis, by the input's name; the batch is not among them.
    """

    name: str
    function: Any
    inputs: Mapping[str, Any]
    dimensions: Mapping[str, Mapping[int, str]]


def owns(made: object) -> bool:
    """Whether something is a jitted function, alone or with its inputs, or any function with inputs of JAX."""
    function, *given = made if isinstance(made, tuple) and made else (made,)
    inputs = given[0] if given and isinstance(given[0], tuple | list) else given[:1]
    return callable(function) and any(map(_is_of_jax, (function, *inputs)))


def _is_of_jax(value: object) -> bool:
    return type(value).__module__.partition(".")[0] in ("jax", "jaxlib")


def load(request: ExportRequest) -> Loaded:
    """Call the function that a request names, and return the function that it makes.

    Raises:
        IrbenchError: It fails, or what it returns is no function of JAX with its inputs.
    """
    if request.weights not in (None, "random"):
        raise IrbenchError(
            f"{request.source} takes no weights from a file.", hint="Load them in the function that it names."
        )
    import_first(request.imports)
    with blaming_function(request.source):
        made = call_user_function(request.source, owns)
    function, *given = made if isinstance(made, tuple) and made else (made,)
    if not owns(made) and not (callable(function) and given):
        raise _refused(request, f"returned {type(function).__name__}, which is no function of JAX")
    inputs = _by_name(function, given[0] if given else (), request)
    dimensions = given[1] if len(given) > 1 else {}
    unknown = sorted(set(dimensions) - set(inputs))
    if unknown:
        raise _refused(request, f"names a dimension of {unknown[0]}; the inputs are {', '.join(inputs)}")
    return Loaded(request.source.rpartition(":")[2], function, inputs, dimensions)


def _by_name(function: Any, given: object, request: ExportRequest) -> Mapping[str, Any]:
    import jax
    import numpy as np

    arrays = given if isinstance(given, tuple | list) else (given,)
    if not arrays:
        raise _refused(request, "returned a function of JAX without example inputs")
    for array in arrays:
        if not isinstance(array, jax.Array | np.ndarray | np.generic):
            raise _refused(request, f"returned example inputs with a {type(array).__name__}, which is no array of JAX")
    try:
        bound = inspect.signature(function).bind(*map(jax.numpy.asarray, arrays)).arguments
    except TypeError as error:
        raise _refused(request, f"returned a function that does not take its inputs: {first_line(error)}") from error
    inputs: dict[str, Any] = {}
    for name, value in bound.items():
        several = isinstance(value, tuple)  # those of *args
        inputs |= {f"{name}_{place}": array for place, array in enumerate(value)} if several else {name: value}
    return inputs


def _refused(request: ExportRequest, why: str) -> IrbenchError:
    return IrbenchError(f"{request.source}() {why}.", hint=_HOW_INPUTS_ARE_GIVEN)
