"""Near-misses of attention that is packed with its projections, and of operations that cancel."""

from __future__ import annotations

import numpy as np

from .written import near_misses_of

_RANDOM = np.random.default_rng(4)


def _weights(*shape: int) -> np.ndarray:
    return _RANDOM.normal(0, 1, shape).astype(np.float32)


_near = near_misses_of(
    "pack_attention",
    {**{f"w{name}": _weights(6, 8) for name in "qkv"}, **{f"b{name}": _weights(8) for name in "qkv"}},
)

_X = "float[batch,tokens,6] x"
_PROJECTED = "  ".join(f"{name}0 = MatMul (x, w{name})  {name} = Add ({name}0, b{name})" for name in "qkv")
_SOURCES = "float[batch,tokens,8] q0, float[batch,tokens,8] k0, float[batch,tokens,8] v0"
_BIASED = "  ".join(f"{name} = Add ({name}0, b{name})" for name in "qkv")
_TWO = "q_num_heads: int = 2, kv_num_heads: int = 2"
for _form, _inputs, _nodes in (("projections", _X, _PROJECTED), ("biases", _SOURCES, _BIASED)):
    _near(
        f"{_form} and a mask for all queries",
        f"{_inputs}, float[batch,1,1,tokens] mask",
        f"{_nodes}  y = Attention <{_TWO}> (q, k, v, mask)",
    )
    _near(
        f"{_form} and a mask of two axes",
        f"{_inputs}, float[tokens,tokens] mask",
        f"{_nodes}  y = Attention <{_TWO}> (q, k, v, mask)",
    )
    _near(
        f"{_form} and keys so far",
        f"{_inputs}, float[batch,2,keys,4] past, float[batch,2,keys,4] before",
        f"{_nodes}  y, present, after = Attention <{_TWO}> (q, k, v, , past, before)",
        "y, float[batch,2,total,4] present, float[batch,2,total,4] after",
    )
    _near(
        f"{_form} and weights that are read",
        _inputs,
        f"{_nodes}  y, , , o = Attention <{_TWO}> (q, k, v)",
        "y, o",
    )
    _near(
        f"{_form} with one head of keys",
        _inputs.replace("8] k0", "4] k0").replace("8] v0", "4] v0"),
        f"{_nodes}  y = Attention <q_num_heads: int = 2, kv_num_heads: int = 1> (q, k, v)",
        wk=_weights(6, 4),
        wv=_weights(6, 4),
        bk=_weights(4),
        bv=_weights(4),
    )
    _near(
        f"{_form} with wider values",
        _inputs.replace("8] v0", "12] v0"),
        f"{_nodes}  y = Attention <{_TWO}> (q, k, v)",
        wv=_weights(6, 12),
        bv=_weights(12),
    )
_near(
    "four axes",
    "float[batch,2,tokens,4] q0, float[batch,2,tokens,4] k0, float[batch,2,tokens,4] v0",
    f"{_BIASED}  y = Attention <{_TWO}> (q, k, v)",
    **{f"b{name}": _weights(4) for name in "qkv"},
)
_PACKED = "p = MatMul (x, w)"
_near(
    "parts along another axis",
    "float[batch,6,6] x",
    f"{_PACKED}  q, k, v = Split <axis: int = 1, num_outputs: int = 3> (p)  y = Attention <{_TWO}> (q, k, v)",
    w=_weights(6, 24),
)
_near(
    "parts of other widths",
    _X,
    f"{_PACKED}  q, k, v = Split <axis: int = -1> (p, parts)  y = Attention <{_TWO}> (q, k, v)",
    w=_weights(6, 28),
    parts=np.array([8, 8, 12]),
)
_near(
    "keys and values that are packed with their biases, of another input than queries",
    f"{_X}, float[batch,tokens,6] z",
    f"q0 = MatMul (x, wq)  q = Add (q0, bq)  p0 = MatMul (z, w)  p = Add (p0, b)"
    f"  k, v = Split <axis: int = -1, num_outputs: int = 2> (p)  y = Attention <{_TWO}> (q, k, v)",
    w=_weights(6, 16),
    b=_weights(16),
)

_near = near_misses_of("remove_redundant", {"two": np.array([0, 0, 2, 3])})
_TURN = "Transpose <perm: ints = [0, 2, 1]>"
_Y = "float[batch,3,6] x"
_near("turns that cancel between input and output", _Y, f"a = {_TURN} (x)  y = {_TURN} (a)")
_near("turns that cancel behind an output", _Y, f"z = Relu (x)  a = {_TURN} (z)  y = {_TURN} (a)", "z, y")
_near("turns that cancel behind a value", _Y, f"z = Relu (x)  a = {_TURN} (z)  y = {_TURN} (a)")
_near("a turn that is an output", _Y, f"a = {_TURN} (x)  b = {_TURN} (a)  y = Relu (b)", "a, y")
_near(
    "a turn that is an output and one that is not",
    _Y,
    f"a = {_TURN} (x)  b = Reshape (a, two)  y = Relu (b)",
    "a, y",
    two=np.array([0, 6, 3, 1]),
)
_near("an integer in between", _Y, "a = Cast <to: int = 6> (x)  y = Cast <to: int = 1> (a)")
_near("fewer digits in between", _Y, "a = Cast <to: int = 10> (x)  y = Cast <to: int = 1> (a)")
_near("a truth in between", _Y, "a = Cast <to: int = 9> (x)  y = Cast <to: int = 1> (a)")
_near("text in the end", "float16[batch,3] x", "a = Cast <to: int = 1> (x)  y = Cast <to: int = 8> (a)")
_CUBES = "float[3,3,3] x, float[3,3,3] z"
_near("a sum of two turns", _CUBES, f"a = {_TURN} (x)  b = Transpose <perm: ints = [2, 1, 0]> (z)  y = Add (a, b)")
_near(
    "a sum of turns of unknown shapes",
    f"{_CUBES}, float[3,3] w, bool flag",
    "a = If (flag) <then_branch = ta () => (float[] sa) { sa = Relu (x) }, "
    "else_branch = ea () => (float[] ra) { ra = Neg (w) }>  b = If (flag) <then_branch = tb () => (float[] sb) "
    "{ sb = Relu (w) }, else_branch = eb () => (float[] rb) { rb = Neg (z) }>"
    "  c = Transpose (a)  d = Transpose (b)  y = Add (c, d)",
    "float[3,3,3] y",
)
