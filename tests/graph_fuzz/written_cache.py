"""Near-misses of attention that appends to a cache of keys and values."""

from __future__ import annotations

import numpy as np

from .written import near_misses_of

_near = near_misses_of("fuse_key_value_cache", {"first": np.array([0]), "ones": np.ones((3, 8), np.float32)})

_NEW = "float[batch,2,3,4] q, float[batch,2,3,4] k, float[batch,2,3,4] v"
_PAST = "float[batch,2,5,4] c, float[batch,2,5,4] d"
_KEYS, _VALUES = "m = Concat <axis: int = 2> (c, k)", "n = Concat <axis: int = 2> (d, v)"
_BOTH = f"{_KEYS}  {_VALUES}"
_ATTEND = "y = Attention (q, m, n)"
_ALL = "y, m, n"

_near(
    "queries are made of the keys",
    f"{_NEW}, {_PAST}",
    f"{_BOTH}  s = ReduceSum (m)  r = Add (q, s)  {_ATTEND.replace('q', 'r')}",
    _ALL,
)
_near(
    "a mask is made of the values",
    f"{_NEW}, {_PAST}",
    f"{_BOTH}  s = ReduceSum (n)  b = Mul (s, ones)  y = Attention (q, m, n, b)",
    _ALL,
)
_near("keys are read by nobody else", f"{_NEW}, {_PAST}", f"{_BOTH}  {_ATTEND}", "y, n")
_near("values are read by nobody else", f"{_NEW}, {_PAST}", f"{_BOTH}  {_ATTEND}", "y, m")
_near("only the shape of keys is read", f"{_NEW}, {_PAST}", f"{_BOTH}  z = Shape (m)  {_ATTEND}", "y, n, z")
_near("keys are values", f"{_NEW}, float[batch,2,5,4] c", f"{_KEYS}  y = Attention (q, m, m)", "y, m")
_near(
    "keys are of three parts",
    f"{_NEW}, {_PAST}",
    f"m = Concat <axis: int = 2> (c, k, k)  n = Concat <axis: int = 2> (d, v, v)  {_ATTEND}",
    _ALL,
)
_near("keys alone are of a cache", f"{_NEW}, float[batch,2,5,4] c, float[batch,2,8,4] n", f"{_KEYS}  {_ATTEND}", "y, m")
_near(
    "values alone are of a cache",
    f"{_NEW}, float[batch,2,8,4] m, float[batch,2,5,4] d",
    f"{_VALUES}  {_ATTEND}",
    "y, n",
)
_near(
    "heads are concatenated",
    "float[batch,2,3,4] q, float[batch,1,3,4] k, float[batch,1,3,4] v, float[batch,1,3,4] c, float[batch,1,3,4] d",
    f"m = Concat <axis: int = 1> (c, k)  n = Concat <axis: int = 1> (d, v)  {_ATTEND}",
    _ALL,
)
_near(
    "batches are concatenated",
    "float[2,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v, float[1,2,3,4] c, float[1,2,3,4] d",
    f"m = Concat <axis: int = 0> (c, k)  n = Concat <axis: int = 0> (d, v)  {_ATTEND}",
    _ALL,
)
_near(
    "widths are concatenated",
    "float[batch,2,3,4] q, float[batch,2,3,2] k, float[batch,2,3,2] v, float[batch,2,3,2] c, float[batch,2,3,2] d",
    f"m = Concat <axis: int = 3> (c, k)  n = Concat <axis: int = 3> (d, v)  {_ATTEND}",
    _ALL,
)
_near(
    "the cache of values is of another length",
    f"{_NEW.replace('2,3,4] v', '2,4,4] v')}, {_PAST.replace('5,4] d', '4,4] d')}",
    f"{_BOTH}  {_ATTEND}",
    _ALL,
)
_near("a diagonal mask", f"{_NEW}, {_PAST}", f"{_BOTH}  y = Attention <is_causal: int = 1> (q, m, n)", _ALL)
_near("scores are an output", f"{_NEW}, {_PAST}", f"{_BOTH}  y, e, f, s = Attention (q, m, n)", f"{_ALL}, s")
_near(
    "a cache is there already",
    f"{_NEW}, {_PAST}, float[batch,2,2,4] e, float[batch,2,2,4] f",
    f"{_BOTH}  y, g, h = Attention (q, m, n, , e, f)",
    f"{_ALL}, g, h",
)
_near(
    "widths of joined heads are concatenated",
    "float[batch,3,8] q, float[batch,3,4] k, float[batch,3,4] v, float[batch,3,4] c, float[batch,3,4] d",
    "m = Concat <axis: int = 2> (c, k)  n = Concat <axis: int = 2> (d, v)"
    "  y = Attention <q_num_heads: int = 2, kv_num_heads: int = 2> (q, m, n)",
    _ALL,
)
_near(
    "three axes",
    "float[batch,3,8] q, float[batch,3,8] k, float[batch,3,8] v, float[batch,5,8] c, float[batch,5,8] d",
    "m = Concat <axis: int = 1> (c, k)  n = Concat <axis: int = 1> (d, v)"
    "  y = Attention <q_num_heads: int = 2, kv_num_heads: int = 2> (q, m, n)",
    _ALL,
)
