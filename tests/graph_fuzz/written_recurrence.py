"""Near-misses of gated recurrent units in Loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from .written import near_misses_of

_RANDOM = np.random.default_rng(5)


def _weights(*shape: int) -> np.ndarray:
    return _RANDOM.normal(0, 1, shape).astype(np.float32)


_written = near_misses_of(
    "loop_to_gru",
    {
        **{f"w{gate}": _weights(3, 2) for gate in "zrn"},
        **{f"u{gate}": _weights(2, 2) for gate in "zrn"},
        "one": np.float32(1),
        "go": np.array(True),
        "stop": np.array(False),
        "four": np.array(4),
        "start": _weights(2, 2),
        "nought": np.array(0),
        "unit": np.array(1),
        "back": np.array(-1),
        "many": np.array(100),
        "twice": np.array(2),
        "first": np.array([0]),
        "second": np.array([1]),
        "last": np.array([-1]),
        "end": np.array([2**31 - 1]),
        "low": np.array([-(2**31)]),
        "starts": np.array([0, 0]),
        "ends": np.array([2**31 - 1, 2]),
        "axes": np.array([0, 1]),
        "steps": np.array([2, 1]),
    },
)


def _near(wrong: str, inputs: str, nodes: str, outputs: str = "", function: str = "", **own: Any) -> None:
    last = "float[rows,columns] y, float[turns,rows,columns] every"
    _written(wrong, inputs, nodes, outputs or last, function, **own)


_S = "float[4,2,3] s"
_STEP = "x = Gather (s, i)  "
_X = "zx = MatMul (x, wz)  rx = MatMul (x, wr)  nx = MatMul (x, wn)  "
_H = "zh = MatMul (h, uz)  rh = MatMul (h, ur)  za = Add (zx, zh)  z = Sigmoid (za)  "
_H += "ra = Add (rx, rh)  r = Sigmoid (ra)  "
_NEW = "rs = Mul (r, h)  nh = MatMul (rs, un)  na = Add (nx, nh)  n = Tanh (na)  "
_NEXT = "k = Mul (z, h)  m = Sub (one, z)  p = Mul (m, n)  g = Add (k, p)  o = Identity (g)  "
_ON = "l = Add (i, unit)  d = Less (l, four)"
_CELL = _STEP + _X + _H + _NEW + _NEXT


def _loop(
    body: str = _CELL + _ON,
    trips: str = "four",
    go: str = "go",
    start: str = "start",
    carried: tuple[str, str, str] = ("", "", ""),
    shape: str = "[2,2]",
    names: str = "y, every",
) -> str:
    """Return a Loop; ``carried`` is a further value outside, in the body, and after it."""
    outside, inner, after = carried
    names = names.replace(",", ", v,") if outside else names
    held = f"(int64 i, bool c, float{shape} h{inner}) => (bool d, float{shape} g{after}, float{shape} o)"
    return f"{names} = Loop ({trips}, {go}, {start}{outside}) <body = b {held} {{ {body} }}>"


_BY_COUNTER = _CELL.replace("(s, i)", "(s, j)") + _ON


def _counter(start: str) -> tuple[str, str, str]:
    return (f", {start}", ", int64 j", ", int64 e")


_near(
    "a step along another axis",
    "float[4,4,3] s",
    _loop(_CELL.replace("Gather (", "Gather <axis: int = 1> (") + _ON, shape="[4,2]"),
    start=_weights(4, 2),
)
_near("a sequence of the body", _S, _loop("t = Neg (s)  " + _CELL.replace("(s, i)", "(t, i)") + _ON))
_near("no sequence", "float[2,3] x", _loop(_X + _H + _NEW + _NEXT + _ON))
_near(
    "no state",
    _S,
    "y = Loop (four, go) <body = b (int64 i, bool c) => (bool d, float[2,3] o) "
    "{ x = Gather (s, i)  o = Neg (x)  d = Identity (c) }>",
    "y",
)
_near("a counter from minus one", _S, _loop(_BY_COUNTER + "  e = Add (j, unit)", carried=_counter("back")))
_near("a counter that goes back", _S, _loop(_BY_COUNTER + "  e = Add (j, back)", carried=_counter("nought")))
_near("a counter that stays", _S, _loop(_BY_COUNTER + "  e = Mul (j, back)", carried=_counter("nought")))
_near(
    "a counter that is read",
    _S,
    _loop(_BY_COUNTER + "  e = Add (j, unit)", carried=_counter("nought")) + "  w = Neg (v)",
    "float[rows,columns] y, float[turns,rows,columns] every, int64 w",
)
_near(
    "a product of one's own",
    _S,
    _loop(_CELL.replace("zx = MatMul", "zx = own.MatMul") + _ON),
    function="MatMul (x, y) => (r) { n = Neg (x)  r = MatMul (n, y) }",
)
_near(
    "a cut at a computed place",
    _S,
    _loop(
        _CELL.replace(
            "zx = MatMul (x, wz)",
            "f = MatMul (x, w4)  q = Shape <start: int = 1> (h)  zx = Slice (f, first, q, second)",
        )
        + _ON
    ),
    w4=_weights(3, 4),
)
_near(
    "one sample for all",
    _S,
    _loop(_CELL.replace("zx = MatMul (x, wz)", "f = MatMul (x, wz)  zx = Slice (f, first, second, first)") + _ON),
)
_near(
    "every other sample for all",
    _S,
    _loop(_CELL.replace("zx = MatMul (x, wz)", "f = MatMul (x, wz)  zx = Slice (f, starts, ends, axes, steps)") + _ON),
)
_near("another number than one", _S, _loop(), one=np.float32(0.9))
_near(
    "a one of three axes",
    _S,
    _loop(shape="[]"),
    "float[once,rows,columns] y, float[turns,once,rows,columns] every",
    one=np.ones((1, 1, 1), np.float32),
    start=_weights(1, 2, 2)[0],
)
_near(
    "a bias of three axes",
    _S,
    _loop(_CELL.replace("zx = MatMul (x, wz)", "f = MatMul (x, wz)  zx = Add (f, bias)") + _ON, shape="[]"),
    "float[once,rows,columns] y, float[turns,once,rows,columns] every",
    bias=_weights(1, 1, 2),
)
_near("fewer turns than steps", _S, _loop(trips="twice"))
_near("no turn", _S, _loop(go="stop"))
_near("one start for all samples", _S, _loop(shape="[]"), start=_weights(1, 2))
_near("a constant start", _S, _loop())
_near(
    "steps of one axis",
    "float[4,3] s",
    _loop(shape="[2]"),
    "float[columns] y, float[turns,columns] every",
    start=np.zeros(2, np.float32),
)
_near("a condition that is greater", _S, _loop(_CELL + "d = Greater (i, many)"))
_near("a condition of another number", _S, _loop(_CELL + "t = Mul (i, twice)  d = Less (t, four)"))
_near("a condition that is false", _S, _loop(_CELL + "d = Identity (stop)"))
_near("a condition that is false in part", _S, _loop(_CELL + "l = Less (i, four)  d = And (l, stop)"))
_near("the first step", _S, _loop(names="u, t") + "  y = Slice (t, first, second, first)", "y")
_near("the last sample", _S, _loop(names="u, t") + "  y = Slice (t, last, end, second)", "y")
_near("the last step", _S, _loop(names="u, t") + "  y = Slice (t, last, end, first)", "y")

_BACK = "q = Slice (s, last, low, first, last)"
_OTHER = _loop(_CELL.replace("(s, i)", "(q, i)") + _ON, names="u1, t1")
_BOTH = f"{_loop(names='u, t')}  {_BACK}  {_OTHER}  t2 = Slice (t1, last, low, first, last)"
_ZERO = np.zeros((2, 2), np.float32)
_near(
    "both directions", _S, f"{_BOTH}  y = Concat <axis: int = -1> (t, t2)", "float[turns,rows,columns] y", start=_ZERO
)
_near(
    "both directions, one behind the other",
    _S,
    f"{_BOTH}  y = Concat <axis: int = 0> (t, t2)",
    "float[turns,rows,columns] y",
    start=_ZERO,
)
_near(
    "both directions, backwards first",
    _S,
    f"{_BOTH}  y = Concat <axis: int = -1> (t2, t)",
    "float[turns,rows,columns] y",
    start=_ZERO,
)
_near(
    "both directions and a third",
    _S,
    f"{_BOTH}  y = Concat <axis: int = -1> (t, t2, t)",
    "float[turns,rows,columns] y",
    start=_ZERO,
)
_near(
    "both directions and the sequence",
    _S,
    f"{_BOTH}  y = Concat <axis: int = -1> (t, t2, s)",
    "float[turns,rows,columns] y",
    start=_ZERO,
)
_near(
    "both directions, as they are computed",
    _S,
    f"{_BOTH}  y = Concat <axis: int = -1> (t, t1)",
    "float[turns,rows,columns] y",
    start=_ZERO,
)
_near(
    "both directions with a start", _S, f"{_BOTH}  y = Concat <axis: int = -1> (t, t2)", "float[turns,rows,columns] y"
)
_near(
    "both directions, one of them read",
    _S,
    f"{_BOTH}  y = Concat <axis: int = -1> (t, t2)  w = Neg (t)",
    "y, w",
    start=_ZERO,
)
_near(
    "both directions and the state",
    _S,
    f"{_BOTH}  y = Concat <axis: int = -1> (t, t2)  w = Neg (u)",
    "y, float[more,columns] w",
    start=_ZERO,
)
_near("both states", _S, f"{_BOTH}  y = Concat <axis: int = -1> (u, u1)", "float[rows,columns] y", start=_ZERO)
_near(
    "both states, one below the other",
    _S,
    f"{_BOTH}  c = Concat <axis: int = 0> (u, u1)  y = Relu (c)",
    "float[rows,columns] y",
    start=_ZERO,
)
_near(
    "both directions of two sequences",
    f"{_S}, float[4,2,3] s1",
    f"{_BOTH.replace('Slice (s,', 'Slice (s1,')}  y = Concat <axis: int = -1> (t, t2)",
    "float[turns,rows,columns] y",
    start=_ZERO,
)
_near(
    "one direction twice",
    _S,
    f"{_loop(names='u, t')}  {_loop(names='u1, t1')}  y = Concat <axis: int = -1> (t, t1)",
    "float[turns,rows,columns] y",
    start=_ZERO,
)
_LATER = _loop(_CELL.replace(_NEW, "hn = MatMul (h, un)  nh = Mul (r, hn)  na = Add (nx, nh)  n = Tanh (na)  ") + _ON)
_near(
    "both directions, of which one resets later",
    _S,
    f"{_LATER.replace('y, every', 'u, t')}  {_BACK}  {_OTHER}  t2 = Slice (t1, last, low, first, last)"
    "  y = Concat <axis: int = -1> (t, t2)",
    "float[turns,rows,columns] y",
    start=_ZERO,
)
_near(
    "both directions, one by a GRU of one's own",
    _S,
    f'{_loop(names="u, t")}  both = GRU <hidden_size: int = 2, clip: float = 0.1, direction: string = "reverse"> '
    "(s, wg, ug, bg)  t2 = Squeeze (both, second)  y = Concat <axis: int = -1> (t, t2)",
    "float[turns,rows,columns] y",
    start=_ZERO,
    wg=_weights(1, 6, 3),
    ug=_weights(1, 6, 2),
    bg=_weights(1, 12),
)
