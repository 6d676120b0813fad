"""Near-misses of rotary position embedding."""

from __future__ import annotations

import numpy as np

from .written import near_misses_of

_RANDOM = np.random.default_rng(0)
_HALF = _RANDOM.normal(0, 1, (3, 2)).astype(np.float32)
_TWICE = np.concatenate([_HALF, _HALF], axis=-1)
_NUMBERS = {
    "zero": [0],
    "one": [1],
    "two": [2],
    "three": [3],
    "four": [4],
    "eight": [8],
    "last": [-1],
    "sizes": [0, 0, 3, 4],
    "table": [3, 4],
    "both": [3, 1],
    "steps": [1, -1],
    "end": [99],
    "starts": [0, -1],
    "later": [2, -1],
    "ends": [2, -99],
    "final": [4, -99],
    "twice": [1, 2],
    "all_twice": [2, 2],
    "order": [0, 2, 1, 3],
}
_near = near_misses_of(
    "fuse_rotary_embedding",
    {
        **{name: np.array(held) for name, held in _NUMBERS.items()},
        "cos": _TWICE,
        "sin": _TWICE[::-1].copy(),
        "c": _HALF,
        "s": _HALF[::-1].copy(),
    },
)

_X = "float[batch,2,3,4] x"
_SLICES = "a = Slice (x, zero, two, last)  b = Slice (x, two, four, last)"
_SECONDS = "a = Slice (x, zero, end, last, two)  b = Slice (x, one, end, last, two)"
_TURNED = "n = Neg (b)  r = Concat <axis: int = -1> (n, a)"
_STACKED = "n = Neg (b)  u = Unsqueeze (n, last)  v = Unsqueeze (a, last)  k = Concat <axis: int = -1> (u, v)"
_STACKED += "  r = Reshape (k, sizes)"
_SUM = "p = Mul (x, cos)  q = Mul (r, sin)  y = Add (p, q)"
_PARTS = "ac = Mul (a, c)  bs = Mul (b, s)  f = Sub (ac, bs)  bc = Mul (b, c)  as = Mul (a, s)  g = Add (bc, as)"
_WHOLE = f"{_TURNED}  {_SUM}"

_near(
    "heads are reversed too",
    _X,
    f"a = Slice (x, starts, ends, both, steps)  b = Slice (x, later, final, both, steps)  {_WHOLE}",
)
_near(
    "the rest is of another axis",
    "float[batch,2,8,4] z",
    f"x = Slice (z, zero, four, two)  o = Slice (z, four, eight, two)  {_SLICES}  {_TURNED}"
    "  p = Mul (x, cos)  q = Mul (r, sin)  w = Add (p, q)  y = Concat <axis: int = -1> (w, o)",
    cos=_TWICE[[0, 1, 2, 0]],
    sin=_TWICE[[1, 2, 0, 1]],
)
_near(
    "pairs are of two tensors",
    f"{_X}, float[batch,2,3,4] z",
    f"a = Slice (x, zero, two, last)  b = Slice (z, two, four, last)  {_PARTS}  y = Concat <axis: int = -1> (f, g)",
)
_near("three parts", _X, f"{_SLICES}  {_PARTS}  w = Neg (f)  y = Concat <axis: int = -1> (f, g, w)")
_near("five axes", "float[batch,1,2,3,4] x", f"{_SLICES}  {_WHOLE}")
_near("one axis", "float[4] x, float[4] cos, float[4] sin", f"{_SLICES}  {_WHOLE}")
_near(
    "elements of a row",
    "float[1,2] x",
    f"j = Reshape (x, two)  a = Gather (j, of_first)  b = Gather (j, of_second)  {_PARTS}"
    "  y = Concat <axis: int = -1> (f, g)",
    of_first=np.array(0),
    of_second=np.array(1),
)
_near("double precision", "double[batch,2,3,4] x, double[3,4] cos, double[3,4] sin", f"{_SLICES}  {_WHOLE}")
_near(
    "double precision of parts",
    "double[batch,2,3,4] x, double[3,2] c, double[3,2] s",
    f"{_SLICES}  {_PARTS}  y = Concat <axis: int = -1> (f, g)",
)
_near("sines of each head", f"{_X}, float[2,3,2] s", f"{_SLICES}  {_PARTS}  y = Concat <axis: int = -1> (f, g)")

for _name, _inputs, _cos in (
    ("halves beside each other", "float[3,2] f", "cos = Concat <axis: int = -1> (f, f)"),
    ("tiled halves", "float[3,2] f", "cos = Tile (f, twice)"),
    ("a stack of rows", "float[1,3,2] f", "j = Concat <axis: int = 0> (f, f)  cos = Reshape (j, table)"),
):
    _near(f"{_name}, for neighbours", f"{_X}, {_inputs}", f"{_cos}  sin = Neg (cos)  {_SECONDS}  {_STACKED}  {_SUM}")
for _name, _inputs, _cos in (
    ("four quarters", "float[3,1] f", "cos = Concat <axis: int = -1> (f, f, f, f)"),
    ("four parts", "float[3,1] f, float[3,1] g", "cos = Concat <axis: int = -1> (f, g, f, g)"),
    ("four parts, two of them equal", "float[3,1] f, float[3,1] g", "cos = Concat <axis: int = -1> (f, f, g, g)"),
    ("two halves that differ", "float[3,2] f, float[3,2] g", "cos = Concat <axis: int = -1> (f, g)"),
    ("rows below each other", "float[1,3,2] f", "j = Concat <axis: int = 1> (f, f)  cos = Reshape (j, table)"),
    (
        "columns in another order",
        "float[3,2] f",
        ("j = Concat <axis: int = -1> (f, f)  i = Cast <to: int = 7> (order)  cos = Gather <axis: int = -1> (j, i)"),
    ),
    ("a part of the columns", "float[3,3] f", "j = Concat <axis: int = -1> (f, f)  cos = Slice (j, one, five, last)"),
):
    _near(_name, f"{_X}, {_inputs}", f"{_cos}  sin = Neg (cos)  {_SLICES}  {_WHOLE}", five=np.array([5]))
for _name, _inputs, _cos in (
    ("halves of the length", "float[2,4] f", "cos = Concat <axis: int = 0> (f, f)"),
    ("tiled along both axes", "float[2,2] f", "cos = Tile (f, all_twice)"),
    ("turned halves", "float[4,2] f", "j = Concat <axis: int = -1> (f, f)  cos = Transpose <perm: ints = [1, 0]> (j)"),
):
    _near(_name, f"float[batch,2,4,4] x, {_inputs}", f"{_cos}  sin = Neg (cos)  {_SLICES}  {_WHOLE}")
_near(
    "rows of a table of unknown shape",
    f"{_X}, float[3,4] f, bool flag",
    "j = If (flag) <then_branch = t () => (float[] t0) { t0 = Identity (f) }, else_branch = e () => (float[] e0) "
    f"{{ e0 = Neg (f) }}>  cos = Reshape (j, table)  sin = Neg (cos)  {_SLICES}  {_WHOLE}",
    "float[batch,2,3,4] y",
)
