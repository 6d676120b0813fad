"""What the backend and the exporter of JAX say without JAX, which need not be installed."""

from __future__ import annotations

import pytest

from irbench.spec import Load, TensorSpec
from irbench.spi import Refusal, UsedModel
from irbench_jax import backend
from irbench_jax.exporter import exporter

IMAGE = TensorSpec("image", "float32", (2, 8))
Jitted = type("PjitFunction", (), {"__module__": "jaxlib._jax", "__call__": lambda self: None})
Array = type("ArrayImpl", (), {"__module__": "jaxlib._jax"})


class Module:
    __module__ = "torch.nn"

    def __call__(self, values: object) -> object:
        return values


@pytest.mark.parametrize(
    ("made", "is_owned"),
    [
        (Jitted(), True),
        ((Jitted(), ("an array of NumPy",)), True),
        ((len, (Array(),)), True),
        ((len, Array()), True),
        ((len, (Array(),), {"x": {1: "length"}}), True),
        ((len, ("an array of NumPy",)), False),
        ((Module(), ("a tensor",)), False),
        (Module(), False),
        ((Array(), (Array(),)), False),
        ((), False),
        (2.0, False),
    ],
)
def test_a_jitted_function_or_one_with_inputs_of_jax_is_owned(made: object, *, is_owned: bool):
    assert exporter.owns(made) is is_owned


def test_only_functions_are_accepted_and_only_perhaps():
    assert exporter.accepts("net.py:make") == "perhaps"
    assert exporter.accepts("net.onnx") == "no"


@pytest.mark.parametrize(
    ("load", "device", "words"),
    [
        (Load(precision="bf16"), "cpu", "does not convert it to bf16"),
        (Load(precision="int8"), "cpu", "does not convert it to int8"),
        (Load(), "cuda", "the CPU alone"),
        (Load(options={"threads": "1"}), "cpu", "no option 'threads'"),
    ],
)
def test_what_jax_cannot_do_is_refused_with_a_way_out(load: Load, device: str, words: str):
    with pytest.raises(Refusal, match=words) as refused:
        backend.import_runtime(load, device)
    assert refused.value.hint


def test_a_program_has_the_threads_of_its_row():
    usage = backend.usage(UsedModel((IMAGE,), (IMAGE,)), Load(threads=3), "cpu")  # type: ignore[attr-defined]
    assert usage.environment == {"JAX_PLATFORMS": "cpu", "PJRT_NPROC": "3"}
    native = backend.usage(UsedModel((IMAGE,), (IMAGE,)), Load(threads=None), "cpu")  # type: ignore[attr-defined]
    assert "PJRT_NPROC" not in native.environment
    compile(f"{usage.imports}\n{usage.load}\n{usage.caller}", "infer.py", "exec")


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4"])
def test_a_program_is_refused_where_numpy_has_no_type(dtype: str):
    with pytest.raises(Refusal, match="NumPy has no type"):
        backend.usage(UsedModel((TensorSpec("x", dtype, (2,)),), (IMAGE,)), Load(), "cpu")  # type: ignore[attr-defined]
