"""Near-misses of heads of queries that share keys and values."""

from __future__ import annotations

import numpy as np

from .written import near_misses_of

_INTEGERS = {
    "twice": [1, 2, 1, 1],
    "thrice": [1, 1, 2, 1, 1],
    "batches": [2, 1, 1, 1],
    "more": [2, 2, 3, 4],
    "same": [1, 1, 1, 1],
    "every": [0, 4, -1, 4],
    "third": [2],
    "table": [[0, 0], [1, 1]],
    "three": [0, 0, 1],
    "four": [0, 0, 0, 0],
    "alone": 0,
}
_near = near_misses_of("fuse_grouped_queries", {name: np.array(numbers) for name, numbers in _INTEGERS.items()})

_Q = "float[batch,4,3,4] q"
_ATTEND = "y = Attention (q, k, v)"
_REPEATED = "u{0} = Unsqueeze ({0}0, third)  e{0} = Tile (u{0}, thrice)  {0} = Reshape (e{0}, every)"
_BOTH = f"{_REPEATED.format('k')}  {_REPEATED.format('v')}"
_TWO = "float[batch,2,3,4] k0, float[batch,2,3,4] v0"
_near(
    "heads in turns",
    "float[1,4,3,4] q, float[1,2,3,4] k0, float[1,2,3,4] v0",
    f"k = Tile (k0, twice)  v = Tile (v0, twice)  {_ATTEND}",
)
_near("heads of a batch in turns", f"{_Q}, {_TWO}", f"k = Tile (k0, twice)  v = Tile (v0, twice)  {_ATTEND}")
_near(
    "a batch is repeated",
    "float[2,2,3,4] q, float[1,2,3,4] k0, float[1,2,3,4] v0",
    f"k = Tile (k0, batches)  v = Tile (v0, batches)  {_ATTEND}",
)
_near(
    "a batch is repeated and turned",
    "float[1,2,3,4] q, float[1,1,3,4] k0, float[1,1,3,4] v0",
    "k1 = Tile (k0, batches)  k = Transpose <perm: ints = [1, 0, 2, 3]> (k1)  v1 = Tile (v0, batches)"
    f"  v = Transpose <perm: ints = [1, 0, 2, 3]> (v1)  {_ATTEND}",
)
_near(
    "a batch is put before",
    "float[2,2,3,4] q, float[2,3,4] k0, float[2,3,4] v0",
    f"k = Expand (k0, more)  v = Expand (v0, more)  {_ATTEND}",
)
_near(
    "batch and heads are repeated",
    "float[2,2,3,4] q, float[1,1,3,4] k0, float[1,1,3,4] v0",
    f"k = Expand (k0, more)  v = Expand (v0, more)  {_ATTEND}",
)
_near(
    "nothing is repeated",
    f"{_Q}, float[batch,4,3,4] k0, float[batch,4,3,4] v0",
    f"k = Expand (k0, same)  v = Expand (v0, same)  {_ATTEND}",
)
_near(
    "nothing is repeated by Concat",
    "float[batch,1,3,4] q, float[batch,1,3,4] k0, float[batch,1,3,4] v0",
    f"k = Concat <axis: int = 1> (k0)  v = Concat <axis: int = 1> (v0)  {_ATTEND}",
)
_near(
    "a table of heads",
    f"{_Q}, {_TWO}",
    "k1 = Gather <axis: int = 1> (k0, table)  k = Reshape (k1, every)  v1 = Gather <axis: int = 1> (v0, table)"
    "  v = Reshape (v1, every)  " + _ATTEND,
)
_near(
    "two dynamic axes that only a computed shape takes apart",
    "float[batch,4,length,4] q, float[batch,length,8] k0, float[batch,length,8] v0",
    "two = Shape <start: int = 0, end: int = 2> (k0)  target = Concat <axis: int = 0> (two, heads)"
    "  k1 = Reshape (k0, rows)  k2 = Expand (k1, pairs)  k3 = Reshape (k2, target)"
    "  k = Transpose <perm: ints = [0, 2, 1, 3]> (k3)"
    "  v1 = Reshape (v0, rows)  v2 = Expand (v1, pairs)  v3 = Reshape (v2, target)"
    f"  v = Transpose <perm: ints = [0, 2, 1, 3]> (v3)  {_ATTEND}",
    heads=np.array([4, 4]),
    rows=np.array([-1, 2, 1, 4]),
    pairs=np.array([1, 1, 2, 1]),
)
_near(
    "one head is taken",
    "float[batch,3,4] q, float[batch,2,3,4] k0, float[batch,2,3,4] v0",
    "k = Gather <axis: int = 1> (k0, alone)  v = Gather <axis: int = 1> (v0, alone)"
    "  y = Attention <q_num_heads: int = 1, kv_num_heads: int = 1> (q, k, v)",
)
_near(
    "one head more often",
    "float[batch,3,3,4] q, float[batch,2,3,4] k0, float[batch,2,3,4] v0",
    f"k = Gather <axis: int = 1> (k0, three)  v = Gather <axis: int = 1> (v0, three)  {_ATTEND}",
)
_near(
    "the first head alone",
    f"{_Q}, {_TWO}",
    f"k = Gather <axis: int = 1> (k0, four)  v = Gather <axis: int = 1> (v0, four)  {_ATTEND}",
)
_near(
    "a dynamic number of heads",
    f"{_Q}, float[batch,5,3,4] k0, float[batch,5,3,4] v0".replace("batch,5", "batch,groups"),
    f"k = Gather <axis: int = 1> (k0, four)  v = Gather <axis: int = 1> (v0, four)  {_ATTEND}",
)
_near(
    "heads side by side",
    f"{_Q}, {_TWO}",
    f"k = Concat <axis: int = 1> (k0, k0)  v = Concat <axis: int = 1> (v0, v0)  {_ATTEND}",
)
_near(
    "other heads",
    "float[batch,2,3,4] q, float[batch,1,3,4] k0, float[batch,1,3,4] k1, float[batch,1,3,4] v0",
    f"k = Concat <axis: int = 1> (k0, k1)  v = Concat <axis: int = 1> (v0, v0)  {_ATTEND}",
)
_near(
    "keys more often than values",
    f"{_Q}, float[batch,1,3,4] k0, float[batch,2,3,4] v0",
    f"k = Concat <axis: int = 1> (k0, k0, k0, k0)  {_REPEATED.format('v')}  {_ATTEND}",
)
_near(
    "keys so far",
    f"{_Q}, {_TWO}, float[batch,4,keys,4] past, float[batch,4,keys,4] before",
    f"{_BOTH}  y, present, after = Attention (q, k, v, , past, before)",
    "y, float[batch,4,total,4] present, float[batch,4,total,4] after",
)
_near(
    "three axes",
    "float[batch,6,4] q, float[batch,1,3,4] k0, float[batch,1,3,4] v0",
    "k1 = Concat <axis: int = 1> (k0, k0)  k = Reshape (k1, six)  v1 = Concat <axis: int = 1> (v0, v0)"
    "  v = Reshape (v1, six)  y = Attention <q_num_heads: int = 1, kv_num_heads: int = 1> (q, k, v)",
    six=np.array([0, 6, 4]),
)

_near = near_misses_of(
    "split_grouped_heads",
    {
        "apart": np.array([0, 2, 2, 3, -1]),
        "rows": np.array([0, 2, 6, -1]),
        "heads": np.array([0, 4, 3, -1]),
        "wide": np.array([0, 2, 3, -1]),
        "three": np.array([4, 3, 3]),
        "four": np.array([-1, 2, 2, 3, 3]),
        "w": np.random.default_rng(1).normal(0, 1, (3, 4)).astype(np.float32),
        "groups": np.array([0, 2, -1, 3, 3]),
        "six": np.array([1, 1, 2, 2, 3, 3]),
        "turned": np.array([0, 2, 3, 2, 3]),
        "long": np.array([0, 0, 2, -1, 3]),
    },
)
_SPLIT = "s = MatMul (q, k)  z = Reshape (s, apart)  p = Softmax (z)  j = Reshape (p, rows)  y = MatMul (j, v)"
_KV = "float[batch,2,4,3] k, float[batch,2,3,4] v"
_near("the pattern", f"float[batch,2,6,4] q, {_KV}", _SPLIT)
_near("joined weights are read", f"float[batch,2,6,4] q, {_KV}", f"{_SPLIT}  o = Neg (j)", "y, o")
_near("scores are read", f"float[batch,2,6,4] q, {_KV}", f"{_SPLIT}  o = Neg (s)", "y, o")
_near(
    "a sum for the product",
    "float[batch,2,6,3] q, float[batch,2,6,3] k, float[batch,2,3,4] v",
    _SPLIT.replace("MatMul (q, k)", "Add (q, k)"),
)
_near(
    "a product of one's own",
    f"float[batch,2,6,4] q, {_KV}",
    _SPLIT.replace("MatMul (q, k)", "own.MatMul (q, k)"),
    function="MatMul (x, y) => (r) { n = Neg (x)  r = MatMul (n, y) }",
)
_near(
    "weights of three axes",
    "float[6,4] q, float[4,3] k, float[3,4] v",
    "s = MatMul (q, k)  z = Reshape (s, a)  p = Softmax (z)  j = Reshape (p, b)  y = MatMul (j, v)",
    a=np.array([2, 3, 3]),
    b=np.array([6, 3]),
)
_near(
    "weights of six axes",
    "float[1,4,3,4] q, float[1,4,4,3] k, float[1,4,3,4] v",
    "s = MatMul (q, k)  z = Reshape (s, six)  p = Softmax (z)  j = Reshape (p, heads)  y = MatMul (j, v)",
)
_near(
    "weights of six axes and batches",
    "float[2,4,6,4] q, float[2,4,4,3] k, float[2,4,3,4] v",
    "s = MatMul (q, k)  z = Reshape (s, a)  p = Softmax (z)  j = Reshape (p, b)  y = MatMul (j, v)",
    a=np.array([2, 2, 2, 2, 3, 3]),
    b=np.array([2, 4, 6, 3]),
)
_near("every head has keys of its own", "float[batch,4,3,4] q, float[batch,4,4,3] k, float[batch,2,3,4] v", _SPLIT)
_near(
    "scores of other rows",
    "float[batch,2,3,4] q, float[batch,2,4,6] k, float[batch,2,3,4] v",
    _SPLIT,
)
_near(
    "groups beside keys",
    "float[batch,2,3,4] q, float[batch,2,4,6] k, float[batch,2,6,4] v",
    "s = MatMul (q, k)  z = Reshape (s, apart)  p = Softmax (z)  j = Reshape (p, wide)  y = MatMul (j, v)",
    wide=np.array([0, 2, 3, 6]),
    apart=np.array([0, 2, 2, 3, 3]),
)
_near(
    "a dynamic number of groups",
    f"float[batch,2,rows,4] q, {_KV}",
    "s = MatMul (q, k)  z = Reshape (s, groups)  p = Softmax (z)  j = Reshape (p, long)  m = MatMul (j, v)"
    "  y = Relu (m)",
    groups=np.array([0, 2, -1, 1, 3]),
    long=np.array([0, 2, -1, 3]),
)
_near(
    "groups that are an input's",
    f"float[2,2,groups,3,4] q0, {_KV.replace('batch', '2')}",
    "q = Reshape (q0, r4)  s = MatMul (q, k)  z = Reshape (s, groups5)  p = Softmax (z)  j = Reshape (p, r3)"
    "  m = MatMul (j, v)  y = Relu (m)",
    r4=np.array([2, 2, -1, 4]),
    groups5=np.array([2, 2, -1, 3, 3]),
    r3=np.array([2, 2, -1, 3]),
)
_near(
    "a dynamic length and batch",
    "float[batch,2,2,tokens,4] q0, float[batch,2,4,3] k, float[batch,2,3,4] v",
    "q = Reshape (q0, r4)  s = MatMul (q, k)  h = Shape (q0)  z0 = Shape <start: int = 0, end: int = 4> (q0)"
    "  t = Concat <axis: int = 0> (z0, n)  z = Reshape (s, t)  p = Softmax (z)  j = Reshape (p, r3)"
    "  m = MatMul (j, v)  y = Relu (m)",
    r4=np.array([0, 2, -1, 4]),
    r3=np.array([0, 2, -1, 3]),
    n=np.array([3]),
)
_near("values of all heads", f"float[batch,2,6,4] q, {_KV}".replace("float[batch,2,3,4] v", "float[3,4] v"), _SPLIT)
_near("constant values", "float[2,2,6,4] q, float[2,2,4,3] k", _SPLIT.replace("(j, v)", "(j, w)"))
_near("keys of all samples", "float[2,2,6,4] q, float[1,2,4,3] k, float[2,2,3,4] v", _SPLIT)
_near("values of all samples", "float[2,2,6,4] q, float[2,2,4,3] k, float[1,2,3,4] v", _SPLIT)
_near("queries of all samples", "float[1,2,6,4] q, float[2,2,4,3] k, float[2,2,3,4] v", _SPLIT)
_near("keys of all heads", "float[2,2,6,4] q, float[2,1,4,3] k, float[2,2,3,4] v", _SPLIT)
_near(
    "values of unknown shape",
    "float[2,2,6,4] q, float[2,2,4,3] k, float[2,2,3,4] u, bool flag",
    "v = If (flag) <then_branch = t () => (float[] t0) { t0 = Identity (u) }, else_branch = e () => (float[] e0) "
    f"{{ e0 = Neg (u) }}>  {_SPLIT}",
    "float[2,2,6,4] y",
)
_near(
    "scores are turned",
    "float[2,2,4,4] q, float[2,2,4,3] k, float[2,2,3,4] v",
    "s = MatMul (q, k)  z = Reshape (s, a)  u = Transpose <perm: ints = [0, 1, 3, 2, 4]> (z)  p = Softmax (u)"
    "  j = Reshape (p, b)  y = MatMul (j, v)",
    a=np.array([2, 2, 2, 2, 3]),
    b=np.array([2, 2, 4, 3]),
)
_near(
    "scores are squashed",
    f"float[batch,2,6,4] q, {_KV}",
    _SPLIT.replace("p = Softmax (z)", "t = Tanh (z)  p = Softmax (t)"),
)
_near(
    "a softmax of the groups",
    f"float[batch,2,6,4] q, {_KV}",
    _SPLIT.replace("Softmax (z)", "Softmax <axis: int = 2> (z)"),
)
