"""Near-misses of attention: of what the scores meet, and of heads that are split and joined."""

from __future__ import annotations

import numpy as np

from .written import near_misses_of

_FLOATS = {
    "half": 0.5,
    "low": -1e9,
    "lower": -1e30,
    "zero": 0.0,
    "never": -np.inf,
    "least": -3e38,
    "high": -1e7,
    "large": -1e5,
    "tiny": -1e-9,
    "deep": 25.0,
}
_INTEGERS = {
    "heads": [0, 0, 2, -1],
    "four": [0, 0, 4, -1],
    "joined": [0, 0, -1],
    "five": [1, 2, 2, 3, 3],
    "back": [2, 2, 3, 3],
    "huge": -(10**9),
    "first": [0],
    "ten": 10,
    "nine": 9,
}
_near = near_misses_of(
    "fuse_attention",
    {
        **{name: np.float32(number) for name, number in _FLOATS.items()},
        **{name: np.array(numbers) for name, numbers in _INTEGERS.items()},
    },
)

_QKV = "float[batch,2,tokens,4] q, float[batch,2,tokens,4] k, float[batch,2,tokens,4] v"
_KNOWN = "float[batch,2,3,4] q, float[batch,2,3,4] k, float[batch,2,3,4] v"
_KEEP, _OTHER = ", bool[batch,1,tokens,tokens] keep", ", bool[batch,1,tokens,tokens] other"
_SCORES = "t = Transpose <perm: ints = [0, 1, 3, 2]> (k)  s = MatMul (q, t)  c = Mul (s, half)"
_END = "p = Softmax (z)  y = MatMul (p, v)"
_GUARD = "n = IsNaN (p)  g = Where (n, zero, p)  y = MatMul (g, v)"

_near(
    "a softmax of one's own",
    _QKV,
    f"{_SCORES}  p = own.Softmax (c)  y = MatMul (p, v)",
    function="Softmax (x) => (r) { r = Relu (x) }",
)
_near(
    "a number over scores",
    _QKV,
    "t = Transpose <perm: ints = [0, 1, 3, 2]> (k)  s = MatMul (q, t)  z = Div (half, s)  " + _END,
)
_near("weights are an output", _QKV, f"{_SCORES}  p = Softmax (c)  y = MatMul (p, v)", "y, p")
_near(
    "a test of one's own",
    _QKV + _KEEP,
    f"{_SCORES}  z = Where (keep, c, never)  p = Softmax (z)  {_GUARD.replace('IsNaN', 'own.IsNaN')}",
    function="IsNaN (x) => (r) { h = Constant <value_float: float = 0.3> ()  r = Less (x, h) }",
)
_near(
    "scores are tested, and weights elsewhere",
    _QKV + _KEEP,
    f"{_SCORES}  z = Where (keep, c, never)  p = Softmax (z)  {_GUARD.replace('(p)', '(z)')}  o = IsNaN (p)",
    "y, o",
)
_near(
    "weights are put to zero where they are kept",
    _QKV + _KEEP,
    f"{_SCORES}  z = Where (keep, c, low)  p = Softmax (z)  g = Where (keep, zero, p)  y = MatMul (g, v)",
)
_near(
    "keys and queries are exchanged between the choices",
    f"{_KNOWN}, bool[3,3] keep",
    "t = Transpose <perm: ints = [0, 1, 3, 2]> (q)  s = MatMul (k, t)  c = Where (keep, s, low)"
    "  z = Transpose <perm: ints = [0, 1, 3, 2]> (c)  p = Softmax (z)  g = Where (keep, p, zero)  y = MatMul (g, v)",
)
_near(
    "the axes of the choices are others",
    "float[2,2,3,4] q, float[2,2,3,4] k, float[2,2,3,4] v, bool[2,1,3,3] keep",
    f"{_SCORES}  d = Reshape (c, five)  e = Where (keep, d, low)  z = Reshape (e, back)  p = Softmax (z)"
    "  g = Where (keep, p, zero)  y = MatMul (g, v)",
)
_near(
    "two numbers are put",
    f"{_QKV}{_KEEP}, bool[tokens,tokens] other",
    f"{_SCORES}  d = Where (keep, c, low)  z = Where (other, d, lower)  {_END}",
)

_MASK = "m = Where (other, zero, low)"
for _name, _below, _function in (
    ("a mask", f"{_MASK}  b = Identity (m)", ""),
    ("a mask through a function", f"{_MASK}  b = own.MatMul (m)", "MatMul (x) => (r) { r = Identity (x) }"),
    ("a mask of doubles", "m = Where (other, double_zero, double_low)  b = Cast <to: int = 1> (m)", ""),
    ("a mask of integers", "m = Cast <to: int = 7> (other)  i = Mul (m, huge)  b = Cast <to: int = 1> (i)", ""),
    ("a mask in integers", f"{_MASK}  i = Cast <to: int = 7> (m)  b = Cast <to: int = 1> (i)", ""),
    ("a mask of a quotient", "m = Cast <to: int = 1> (other)  b = Div (m, tiny)", ""),
    (
        "a mask of two factors",
        ("m = Cast <to: int = 1> (other)  i = Mul (m, large)  f = Mul (i, large)  b = Neg (f)"),
        "",
    ),
    (
        "a mask of an exponential",
        "m = Cast <to: int = 1> (other)  i = Mul (m, deep)  f = Exp (i)  b = Neg (f)",
        "",
    ),
    (
        "a mask of powers",
        (
            "m = Cast <to: int = 7> (other)  i = Mul (m, ten)  f = Pow (i, nine)"
            "  o = Neg (f)  b = Cast <to: int = 1> (o)"
        ),
        "",
    ),
):
    _near(
        f"{_name} below a choice",
        _QKV + _KEEP + _OTHER,
        f"{_SCORES}  {_below}  d = Add (c, b)  z = Where (keep, d, low)  {_END}",
        function=_function,
        double_zero=np.float64(0),
        double_low=np.float64(-1e9),
    )
_near(
    "a mask of one's own that is not finite",
    _QKV + _KEEP,
    f"{_SCORES}  m = own.Where (keep, zero, least)  z = Add (c, m)  p = Softmax (z)  {_GUARD}",
    function="Where (a, b, c) => (r) { m = Where (a, b, c)  q = Add (m, m)  r = Add (q, q) }",
)
_FIVE = "float[1,batch,2,tokens,4] {0}"
_near(
    "five axes",
    ", ".join(map(_FIVE.format, "qkv")),
    f"t = Transpose <perm: ints = [0, 1, 2, 4, 3]> (k)  s = MatMul (q, t)  z = Mul (s, half)  {_END}",
)
_near(
    "two axes",
    "float[tokens,4] q, float[tokens,4] k, float[tokens,4] v",
    f"t = Transpose <perm: ints = [1, 0]> (k)  s = MatMul (q, t)  z = Mul (s, half)  {_END}",
)
_near(
    "scores of two axes",
    "float[1,tokens,4] q, float[1,tokens,4] k, float[1,tokens,4] v, float[tokens,tokens] mask",
    "t = Transpose <perm: ints = [0, 2, 1]> (k)  s = MatMul (q, t)  r = Squeeze (s, first)  m = Add (r, mask)"
    f"  z = Unsqueeze (m, first)  {_END}",
)
_near("a mask of another length", f"{_KNOWN}, float[batch,1,tokens,3] mask", f"{_SCORES}  z = Add (c, mask)  {_END}")

_X = "float[batch,tokens,8] x, float[batch,tokens,8] k0, float[batch,tokens,8] v0"
_Q = "q1 = Reshape (x, heads)  q = Transpose <perm: ints = [0, 2, 1, 3]> (q1)"
_K = "k1 = Reshape (k0, heads)  k = Transpose <perm: ints = [0, 2, 1, 3]> (k1)"
_V = "v1 = Reshape (v0, heads)  v = Transpose <perm: ints = [0, 2, 1, 3]> (v1)"
_HEADS = "y1 = Attention (q, k, v)"
_JOINED = "b = Transpose <perm: ints = [0, 2, 1, 3]> (y2)  y = Reshape (b, joined)"
_near(
    "values are not split",
    _X.replace("float[batch,tokens,8] v0", "float[batch,2,tokens,4] v"),
    f"{_Q}  {_K}  y2 = Attention (q, k, v)  {_JOINED}",
)
_near(
    "heads and length are not exchanged",
    "float[batch,3,8] x, float[batch,3,8] k0, float[batch,3,8] v0",
    "q = Reshape (x, heads)  k = Reshape (k0, heads)  v = Reshape (v0, heads)  y2 = Attention (q, k, v)  " + _JOINED,
)
_near(
    "queries of three axes are turned",
    "float[batch,8,tokens] x, float[batch,tokens,8] k, float[batch,tokens,8] v",
    "q = Transpose <perm: ints = [0, 2, 1]> (x)  y = Attention <q_num_heads: int = 2, kv_num_heads: int = 2> (q, k, v)",
)
for _name, _rows, _choice in (
    ("zeros and rows are exchanged", "bool[batch,1,tokens,1]", "(rows, zero, y1)"),
    ("rows of each head", "bool[batch,2,tokens,1]", "(rows, y1, zero)"),
    ("rows of each column", "bool[batch,1,tokens,4]", "(rows, y1, zero)"),
    ("rows of two axes", "bool[tokens,1]", "(rows, y1, zero)"),
    ("another number than zero", "bool[batch,1,tokens,1]", "(rows, y1, half)"),
    ("zeros of four axes", "bool[batch,1,tokens,1]", "(rows, y1, zeros)"),
    ("zeros of each column", "bool[batch,1,tokens,1]", "(rows, y1, columns)"),
):
    _near(
        f"{_name} before heads are joined",
        f"{_X}, {_rows} rows",
        f"{_Q}  {_K}  {_V}  {_HEADS}  y2 = Where {_choice}  {_JOINED}",
        zeros=np.zeros((1, 1, 1, 1), np.float32),
        columns=np.zeros(4, np.float32),
    )
_near(
    "keys so far are read and written",
    f"{_X}, float[batch,2,keys,4] past, float[batch,2,keys,4] before",
    f"{_Q}  {_K}  {_V}  y2, present, after = Attention (q, k, v, , past, before)  {_JOINED}",
    "y, float[batch,2,total,4] present, float[batch,2,total,4] after",
)

_ONE_HEAD = "q = Unsqueeze (x, second)  k = Unsqueeze (k0, second)  v = Unsqueeze (v0, second)"
_near(
    "heads are added up",
    _X,
    f"{_Q}  {_K}  {_V}  {_HEADS}  y = ReduceSum <keepdims: int = 0> (y1, second)",
    second=np.array([1]),
)
_near(
    "the result of one head is laid out in one row",
    _X.replace("batch,tokens", "2,3"),
    f"{_ONE_HEAD}  {_HEADS}  y = Reshape (y1, row)",
    second=np.array([1]),
    row=np.array([0, -1]),
)
for _name, _rows, _axes in (
    ("rows of which any is kept", "bool[batch,tokens,1]", "(keep, third)"),
    ("rows of an axis that is dropped", "bool[batch,tokens,1,keys]", "<keepdims: int = 0> (keep, last)"),
):
    _near(
        f"{_name} before heads are joined",
        f"{_X}, {_rows} kept",
        f"keep = Unsqueeze (kept, second)  rows = ReduceMax {_axes}  {_Q}  {_K}  {_V}  {_HEADS}"
        f"  y2 = Where (rows, y1, zero)  {_JOINED}",
        second=np.array([1]),
        third=np.array([2]),
        last=np.array([-1]),
    )

_BIASED = "kb = Add (k, bias)"
_BIAS = np.array([0.3, -0.8, 1.4, 0.6], np.float32)
_near(
    "a mask that leaves no digits beside a bias of keys",
    _QKV + _KEEP,
    f"{_BIASED}  m = Where (keep, zero, high)  y = Attention (q, kb, v, m)",
    bias=_BIAS,
)
_near(
    "a mask of one's own beside a bias of keys",
    _QKV + _KEEP,
    f"{_BIASED}  m = own.Where (keep, zero, half)  y = Attention (q, kb, v, m)",
    function="Where (a, b, c) => (r) { l = Constant <value_float: float = -2e7> ()  m = Where (a, b, c)"
    "  r = Mul (m, l) }",
    bias=_BIAS,
)
