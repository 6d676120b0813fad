"""Near-misses of normalisation by the root of squares, and of groups."""

from __future__ import annotations

import numpy as np

from .written import near_misses_of

_RANDOM = np.random.default_rng(3)


def _weights(*shape: int) -> np.ndarray:
    return _RANDOM.normal(0, 1, shape).astype(np.float32)


_NUMBERS = {"epsilon": np.float32(1e-6), "two": np.float32(2), "one": np.float32(1), "root": np.float32(-0.5)}
_near = near_misses_of(
    "fuse_rms_normalization",
    {
        **_NUMBERS,
        "last": np.array([-1]),
        "none": np.array([], np.int64),
        "scale": _weights(6),
        "other": _weights(6),
    },
)
_X = "float[batch,tokens,6] x"
_SPREAD = "m = ReduceMean <keepdims: int = 1> (s, last)  a = Add (m, epsilon)"
_ROOT = f"s = Mul (x, x)  {_SPREAD}  r = Sqrt (a)"
_NORMAL = f"{_ROOT}  n = Div (x, r)  y = Mul (n, scale)"
_near(
    "integers",
    "int64[batch,tokens,6] x",
    f"s = Mul (x, x)  {_SPREAD}  i = Pow (a, root)  y = Mul (x, i)",
    epsilon=np.int64(1),
)
_near("a mean that drops its axis", "float[batch,6,6] x", _NORMAL.replace("keepdims: int = 1", "keepdims: int = 0"))
_near("no axes", "float[2,3,6] x", _NORMAL.replace("(s, last)", "(s)"))
_near("an empty list of axes", "float[2,3,6] x", _NORMAL, last=np.array([], np.int64))
_near(
    "nothing is reduced",
    "float[2,3,6] x",
    _NORMAL.replace("<keepdims", "<noop_with_empty_axes: int = 1, keepdims").replace("(s, last)", "(s)"),
)
_near("a scale that stretches", "float[batch,tokens,1] x", _NORMAL)
_near("a scale of rows", "float[batch,3,6] x", _NORMAL, scale=_weights(3, 6))
_near("a scale of more axes", "float[batch,3,6] x", _NORMAL, scale=_weights(1, 1, 1, 6))
_near("an epsilon for each element", _X, _NORMAL, epsilon=np.full((1, 6), 0.1, np.float32))
_near("an epsilon of more axes", _X, _NORMAL, epsilon=np.full((1, 1, 1, 1), 0.1, np.float32))
_near(
    "another root",
    _X,
    f"s = Pow (x, two)  {_SPREAD}  i = Pow (a, root)  n = Mul (x, i)  y = Mul (n, scale)",
    root=np.float32(-1),
)
_near("another numerator", _X, f"{_ROOT}  i = Div (one, r)  n = Mul (x, i)  y = Mul (n, scale)", one=np.float32(2))
_near(
    "a scale beyond the scale",
    "float[batch,3,6] x",
    "n = RMSNormalization <axis: int = 1> (x, scale)  y = Mul (n, other)",
    other=_weights(3, 6),
)
_near(
    "a scale of one number",
    "float[batch,3,6] x",
    "n = RMSNormalization <axis: int = 1> (x, scale)  y = Mul (n, other)",
    scale=_weights(1),
)
_HALF = f"x = Cast <to: int = 1> (h)  {_ROOT}  n = Div (x, r)  z = Mul (n, scale)  y = Cast <to: int = 10> (z)"
_near("a scale that is not exact in float16", "float16[batch,tokens,6] h", _HALF)
_near(
    "doubles in between",
    "float[batch,tokens,6] h",
    _HALF.replace("Cast <to: int = 1>", "Cast <to: int = 11>").replace("int = 10>", "int = 1>"),
    **{
        name: held.astype(np.float64) for name, held in {"scale": np.arange(6) / 4, "epsilon": np.asarray(1e-6)}.items()
    },
)
_SHARED = f"{_ROOT}  i = Reciprocal (r)  f = Mul (i, scale)  g = Mul (i, other)  y = Mul (x, f)  z = Mul (x, g)"
_near("a shared root", _X, _SHARED, "y, z")
_near("a shared root that is an output", _X, _SHARED, "y, z, i")
_near("a shared root that is no factor", _X, _SHARED.replace("g = Mul (i, other)", "g = Neg (i)"), "y, z")
_near("a shared root and a sum", _X, _SHARED.replace("g = Mul (i, other)", "g = Add (i, other)"), "y, z")
_near("a shared root that is scaled by an input", f"{_X}, float[6] other", _SHARED, "y, z")
_near(
    "a shared root of another tensor",
    f"{_X}, float[batch,tokens,6] w",
    _SHARED.replace("Mul (x, g)", "Mul (w, g)"),
    "y, z",
)
_near(
    "a shared root of nothing",
    _X,
    "r = Sqrt (x)  i = Reciprocal (r)  f = Mul (i, scale)  g = Mul (i, other)  y = Mul (x, f)  z = Mul (x, g)",
    "y, z",
)
_near("one root", _X, f"{_ROOT}  i = Reciprocal (r)  f = Mul (i, scale)  y = Mul (x, f)")

_near = near_misses_of(
    "fuse_group_normalization",
    {
        **_NUMBERS,
        "epsilon": np.float32(1e-3),
        "axes": np.array([2, 3]),
        "none": np.array([], np.int64),
        "scale": _weights(2, 1, 1),
        "bias": _weights(2, 1, 1),
        "channels": _weights(1, 2, 3, 1),
    },
)
_G = "float[batch,2,3,4] x"
_MOMENTS = "m = ReduceMean <keepdims: int = 1> (x, axes)  d = Sub (x, m)  s = Mul (d, d)"
_MOMENTS += "  v = ReduceMean <keepdims: int = 1> (s, axes)  a = Add (v, epsilon)  r = Sqrt (a)"
_DIVIDED = f"{_MOMENTS}  y = Div (d, r)"
_KERAS = f"{_MOMENTS}  i = Reciprocal (r)  f = Mul (i, scale)  n = Neg (m)  o = Mul (n, f)  b = Add (o, bias)"
_KERAS += "  p = Mul (x, f)  y = Add (p, b)"
_near("groups", _G, _DIVIDED)
_near("groups with a scale", _G, _KERAS)
_near("doubles", "double[batch,2,3,4] x", _DIVIDED, epsilon=np.float64(1e-3))
_near("all but the batch", _G, _DIVIDED, axes=np.array([1, 2, 3]))
_near("all but the batch and two", "float[batch,2,3,4,2] x", _DIVIDED, axes=np.array([3, 4]))
_near("the batch is reduced", "float[2,2,3,4] x", _DIVIDED, axes=np.array([0, 3]))
_near("the last axis", "float[batch,2,4] x", _DIVIDED, axes=np.array([2]))
_near("two axes, of which all are reduced", "float[2,6] x", _DIVIDED, axes=np.array([], np.int64))
_near(
    "two axes, of which none are reduced",
    "float[2,6] x",
    _DIVIDED.replace("<keepdims", "<noop_with_empty_axes: int = 1, keepdims"),
    axes=np.array([], np.int64),
)
_near("two dynamic axes", "float[batch,2,tokens,keys] x", _DIVIDED)
_near("a dynamic axis in the middle", "float[batch,2,tokens,4] x", _DIVIDED)
_near("a dynamic number of groups", "float[batch,groups,3,4] x", _DIVIDED)
_near("a scale of channels", _G, _KERAS, scale=_weights(1, 2, 3, 1))
_near("a scale of rows", _G, _KERAS, scale=_weights(4))
_near("a bias of rows", _G, _KERAS, bias=_weights(4))
_near("a scale of more axes", _G, _KERAS, scale=_weights(1, 1, 2, 1, 1))
_near("a bias of more axes", _G, _KERAS, bias=_weights(1, 1, 2, 1, 1))
_near("a bias of a batch", "float[2,2,3,4] x", _KERAS, bias=_weights(2, 2, 1, 1))
_near("a bias that stretches", "float[batch,1,3,4] x", _KERAS, scale=_weights(1, 1, 1), bias=_weights(2, 1, 1))
_near("a scale that stretches", "float[batch,1,3,4] x", _KERAS, scale=_weights(2, 1, 1), bias=_weights(2, 1, 1))
_near("a bias that stretches channels", "float[batch,2,1,4] x", _KERAS, bias=_weights(2, 3, 1))
_near("groups behind", "float[batch,3,4,2] x", _KERAS, axes=np.array([1, 2]), scale=_weights(2), bias=_weights(2))
_near(
    "groups between", "float[batch,3,2,4] x", _KERAS, axes=np.array([1, 3]), scale=_weights(2, 1), bias=_weights(2, 4)
)
_near(
    "groups between and a bias before",
    "float[batch,3,2,4] x",
    _KERAS,
    axes=np.array([1, 3]),
    scale=_weights(2, 1),
    bias=_weights(3, 1, 1),
)
_near("a dynamic channel", "float[batch,2,tokens,4] x", _KERAS, bias=_weights(2, 3, 1))
