"""Near-misses of changes of layout around products."""

from __future__ import annotations

import numpy as np

from .written import near_misses_of

_RANDOM = np.random.default_rng(2)


def _weights(*shape: int) -> np.ndarray:
    return _RANDOM.normal(0, 1, shape).astype(np.float32)


_INTEGERS = {
    "rows": [-1, 6],
    "heads": [2, 3, 2, 4],
    "merged": [-1, 3, 4],
    "mergedk": [-1, 4, 5],
    "apart": [-1, 2, 3, 5],
    "three": [2, 3, 8],
    "one": [6],
    "six": [2, 3, 6],
    "split": [0, 0, 2, 3],
    "turned": [0, 3, 2, 3],
    "dynamic": [0, 0, -1, 3],
}
_near = near_misses_of(
    "lift_reshapes",
    {
        **{name: np.array(numbers) for name, numbers in _INTEGERS.items()},
        "w": _weights(6, 8),
        "c": _weights(2, 3),
        "half": np.float32(0.5),
    },
)

_X = "float[2,3,6] x"
_ROWS = "r = Reshape (x, rows)  m = MatMul (r, w)"
_near(
    "rows of a batch of matrices",
    "float[2,3,6] x, float[2,6,8] k",
    "r = Reshape (x, six)  m = MatMul (r, k)  y = Reshape (m, heads)",
    heads=np.array([2, 3, 2, 4]),
    six=np.array([2, 3, 6]),
)
_near(
    "rows times a vector",
    "float[2,3,6] x, float[6] k",
    "r = Reshape (x, rows)  m = MatMul (r, k)  y = Reshape (m, two)",
    two=np.array([2, 3]),
)

_near("rows that are in place", "float[6,6] x", "r = Reshape (x, six)  m = MatMul (r, w)  y = Reshape (m, heads)")
_near("rows of a Relu", "float[6,6] x", "r = Relu (x)  m = MatMul (r, w)  y = Reshape (m, three)")
_near(
    "rows that are gathered",
    _X,
    f"{_ROWS}  y = Gather (m, places)",
    places=np.array([[5, 0, 1], [2, 2, 4]]),
)

_AB = "float[batch,2,3,4] a, float[batch,2,4,5] b"
_BOTH = "p = Reshape (a, merged)  q = Reshape (b, mergedk)  m = MatMul (p, q)"
_near(
    "one merged operand of known size",
    "float[2,2,3,4] a, float[4,4,5] q",
    "p = Reshape (a, merged)  m = MatMul (p, q)  y = Reshape (m, apart)",
)
_near("an operand for all samples", "float[2,2,3,4] a, float[1,1,4,5] b", f"{_BOTH}  y = Reshape (m, apart)")
_near(
    "an operand for all samples, to the left", "float[1,1,3,4] a, float[2,2,4,5] b", f"{_BOTH}  y = Reshape (m, apart)"
)
_near(
    "axes are split before",
    "float[batch,3,4] a, float[batch,4,5] b",
    "p = Reshape (a, s1)  q = Reshape (b, s2)  m = MatMul (p, q)  y = Reshape (m, s3)",
    s1=np.array([0, 1, 3, 4]),
    s2=np.array([0, 1, 4, 5]),
    s3=np.array([0, 3, 5]),
)
_near(
    "both split before",
    "float[4,3,4] a, float[4,4,5] b",
    "p = Reshape (a, s1)  q = Reshape (b, s2)  m = MatMul (p, q)  y = Reshape (m, s3)",
    s1=np.array([2, 2, 3, 4]),
    s2=np.array([2, 2, 4, 5]),
    s3=np.array([4, 3, 5]),
)

_near("operands that others read", _AB, f"{_BOTH}  y = Reshape (m, apart)  o = Neg (p)", "y, o")
_near(
    "all turned behind the merging",
    "float[4,3,2,2] a, float[4,5,2,2] b",
    "p0 = Reshape (a, s1)  p = Transpose <perm: ints = [2, 1, 0]> (p0)  q0 = Reshape (b, s2)"
    "  q = Transpose <perm: ints = [2, 0, 1]> (q0)  m = MatMul (p, q)  y = Reshape (m, apart)",
    s1=np.array([4, 3, 4]),
    s2=np.array([4, 5, 4]),
)

_SQUARES = "float[batch,keys,5,5] a, float[batch,keys,5,5] b"
_SIZES = "h = Shape <start: int = 0, end: int = 2> (a)  t = Concat <axis: int = 0> (h, e)  y = Reshape (m, t)"
_near(
    "an operand that no constant cuts",
    "float[batch,keys,3,4] a, float[5,batch,keys,4] b",
    f"{_BOTH}  {_SIZES}",
    e=np.array([3, 5]),
)
_near(
    "squares that are not turned",
    _SQUARES,
    "p = Reshape (a, s)  q0 = Reshape (b, s)  q = Transpose <perm: ints = [0, 1, 2]> (q0)  m = MatMul (p, q)"
    f"  {_SIZES}",
    s=np.array([-1, 5, 5]),
    e=np.array([5, 5]),
)

_SPLIT = "r = Reshape (x, split)"
_near("a constant behind a Relu", "float[batch,3,6] x", "r = Relu (x)  y = Add (r, d)", d=_weights(6))
_near(
    "a constant behind a number", "float x", "r = Reshape (x, ones)  y = Add (r, d)", ones=np.array([1]), d=_weights(6)
)
_near(
    "a split of a dynamic axis",
    "float[2,3,keys,2] x0",
    "x1 = Reshape (x0, joined)  x = Neg (x1)  r = Reshape (x, pairs)  y = Add (r, d)",
    joined=np.array([2, 3, -1]),
    pairs=np.array([2, 3, -1, 2]),
    d=_weights(1, 2),
)
_near("a split that others read", "float[batch,3,6] x", f"{_SPLIT}  y = Add (r, c)  o = Neg (r)", "y, o")
_near("a constant of more axes", "float[batch,3,6] x", f"{_SPLIT}  y = Add (r, d)", d=_weights(1, 1, 1, 2, 3))
_near(
    "a constant that stretches",
    "float[batch,3,2] x",
    "r = Reshape (x, s1)  y = Add (r, d)",
    s1=np.array([0, 0, 2, 1]),
    d=_weights(2, 3),
)
_near(
    "a constant that stretches rows",
    "float[batch,1,6] x",
    "r = Reshape (x, s1)  y = Add (r, d)",
    s1=np.array([0, 0, 2, 3]),
    d=_weights(4, 2, 3),
)
_near(
    "a split of more than the last axis",
    "float[batch,6,2] x",
    "r = Reshape (x, s1)  y = Add (r, d)",
    s1=np.array([0, 6, 1, 2]),
    d=_weights(6, 1, 2),
)

_near(
    "a scale of more axes before a turn",
    "float[batch,3,6] x",
    "s = Mul (x, d)  y = Transpose <perm: ints = [0, 2, 1, 3]> (s)",
    d=_weights(1, 1, 1, 1),
)
_near(
    "a scale of more axes before a Reshape",
    "float[batch,3,6] x",
    "s = Mul (x, d)  y = Reshape (s, s1)",
    d=_weights(1, 1, 1),
    s1=np.array([-1, 6]),
)
_near(
    "a number over what is turned",
    "float[batch,3,6] x",
    "s = Div (half, x)  y = Transpose <perm: ints = [0, 2, 1]> (s)",
)
_near(
    "a scale that others read",
    "float[batch,3,6] x",
    "s = Mul (x, half)  y = Transpose <perm: ints = [0, 2, 1]> (s)  o = Neg (s)",
    "y, o",
)

_near(
    "a squared number of unknown shape",
    "float[2,3,6] u",
    "x = own.Neg (u)  s = Mul (x, d)  y = Transpose <perm: ints = [0, 1, 3, 2]> (s)",
    "float[1,2,6,3] y",
    "Neg (x) => (r) { r = Neg (x) }",
    d=_weights(1, 1, 1, 1),
)

_M = "float[batch,6] x"
_near(
    "a general product of one's own",
    _M,
    "y = own.Gemm (x, w)",
    "float[batch,8] y",
    "Gemm (x, w) => (r) { p = MatMul (x, w)  r = Neg (p) }",
)
_near("a general product with a factor", _M, "y = Gemm <alpha: float = 0.5> (x, w)")
_near("a general product with a bias", _M, "y = Gemm (x, w, d)", d=_weights(8))
_near("a general product of turned rows", "float[6,batch] x", "y = Gemm <transA: int = 1> (x, w)")
_near("a general product of square rows turned by two", "float[6,6] x", "y = Gemm <transA: int = 2> (x, w)")

_near(
    "an addend of unknown shape between a cut and its joining",
    "float[2,6,8] x, float[2,3,4,2] a, float[2,2,3,4,2] b, bool flag",
    "r = Reshape (x, cut)  u = If (flag) <then_branch = t () => (float[] t0) { t0 = Relu (a) }, "
    "else_branch = e () => (float[] e0) { e0 = Neg (b) }>  w = Add (r, u)  z = Add (w, b)"
    "  y = Reshape (z, joined)",
    stated="float[2,2,3,4,2] w, float[2,2,3,4,2] z",
    cut=np.array([2, 2, 3, 4, 2]),
    joined=np.array([2, 6, 8]),
)
_near(
    "leading axes are cut and joined around a sum",
    "float[6,4,5] x, float[2,3,4,5] a",
    "r = Reshape (x, leading)  z = Add (r, a)  y = Reshape (z, trailing)",
    leading=np.array([2, 3, 4, 5]),
    trailing=np.array([6, 4, 5]),
)

_near = near_misses_of("slices_to_gather", {})
_near(
    "slices of two axes each",
    "float[2,6,4] x",
    "a = Slice (x, starts, ends, axes)  b = Slice (x, zeros, starts, axes)  y = Concat <axis: int = 1> (a, b)",
    starts=np.array([2, 1]),
    ends=np.array([6, 2]),
    zeros=np.array([0, 0]),
    axes=np.array([1, 2]),
)
_near(
    "one slice",
    "float[2,6,4] x",
    "a = Slice (x, start, end, axis)  y = Concat <axis: int = 1> (a)",
    start=np.array([2]),
    end=np.array([5]),
    axis=np.array([1]),
)
_near(
    "a slice up to a size that no constant says",
    "float[batch,6,4] x, float[tokens] z",
    "n = Shape (z)  a = Slice (x, start, end, axis)  b = Slice (x, zero, n, axis)  y = Concat <axis: int = 1> (a, b)",
    start=np.array([2]),
    end=np.array([6]),
    zero=np.array([0]),
    axis=np.array([1]),
)
