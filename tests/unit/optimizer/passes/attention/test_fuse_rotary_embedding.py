import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.attention.fuse_rotary_embedding import fuse_rotary_embedding

BATCH, LENGTH, HEADS, WIDTH = 2, 5, 3, 8
HALF = WIDTH // 2
ANGLES = random(LENGTH, HALF)
COS, SIN = np.cos(ANGLES), np.sin(ANGLES)
LENGTH_FIRST, HEADS_FIRST = (BATCH, LENGTH, HEADS, WIDTH), (BATCH, HEADS, LENGTH, WIDTH)
PLACES = {"length": (1, LENGTH, 1, WIDTH), "heads": (1, 1, LENGTH, WIDTH)}

SPLIT = "a, b = Split <axis: int = -1, num_outputs: int = 2> (x)"
SLICES = "a = Slice (x, zero, half, last)  b = Slice (x, half, end, last)"
EVERY_SECOND = "a = Slice (x, zero, end, last, two)  b = Slice (x, one, end, last, two)"
JOINED = "n = Neg (b)  r = Concat <axis: int = -1> (n, a)"
STACKED = "n = Neg (b)  u = Unsqueeze (n, {axis})  v = Unsqueeze (a, {axis})  s = Concat <axis: int = {at}> (u, v)"
STACKED += "  r = Reshape (s, sizes)"
SUM = "p = Mul (x, cos)  q = Mul (r, sin)  y = Add (p, q)"
NUMBERS = {"zero": [0], "one": [1], "two": [2], "half": [HALF], "end": [2**31 - 1], "last": [-1], "third": [3]}
NUMBERS |= {"fourth": [4], "zeros": [0, 0], "zero_one": [0, 1], "ends": [99, 99], "ones_two": [1, 2], "both": [0, 3]}
OF_WHOLE_BATCH = "a = Slice (x, zeros, ends, both, ones_two)  b = Slice (x, zero_one, ends, both, ones_two)"
FORMS = {
    "halves, split and joined": (f"{SPLIT}  {JOINED}", False),
    "halves, sliced and joined": (f"{SLICES}  {JOINED}", False),
    "halves, split and stacked": (f"{SPLIT}  {STACKED.format(axis='third', at=3)}", False),
    "neighbours": (f"{EVERY_SECOND}  {STACKED.format(axis='fourth', at=4)}", True),
    "neighbours of the whole batch": (f"{OF_WHOLE_BATCH}  {STACKED.format(axis='fourth', at=4)}", True),
}


def twice(table, neighbours):
    return table.repeat(2, axis=-1) if neighbours else np.concatenate([table, table], axis=-1)


def make(body, sizes=LENGTH_FIRST, place="length", neighbours=False, signature=None, **weights):
    tables = {name: twice(table, neighbours) for name, table in (("cos", COS), ("sin", SIN))}
    tables = {name: table.reshape(PLACES[place]) for name, table in tables.items() if f"{name} =" not in body}
    numbers = {name: np.array(number) for name, number in NUMBERS.items()}
    dims = ",".join(map(str, sizes))
    signature = signature or f"(float[{dims}] x) => (float[{dims}] y)"
    return graph(f"{signature} {{ {body} }}", {"sizes": np.array(sizes), **numbers, **tables, **weights})


def feed(sizes=LENGTH_FIRST):
    return {"x": random(*sizes)}


@pytest.mark.parametrize("form", FORMS)
def test_rule_1_fuses_where_length_is_before_heads(form):
    body, neighbours = FORMS[form]
    model = make(f"{body}  {SUM}", neighbours=neighbours)
    assert applied(fuse_rotary_embedding, model, feed()) == ["Reshape", "RotaryEmbedding", "Reshape"]


@pytest.mark.parametrize("form", FORMS)
def test_rule_1_fuses_where_heads_are_before_length(form):
    body, neighbours = FORMS[form]
    model = make(f"{body}  {SUM}", HEADS_FIRST, "heads", neighbours)
    assert applied(fuse_rotary_embedding, model, feed(HEADS_FIRST)) == ["RotaryEmbedding"]


@pytest.mark.parametrize(
    "order", ["p = Mul (cos, x)  q = Mul (sin, r)  y = Add (q, p)", SUM.replace("Add (p, q)", "Add (q, p)")]
)
def test_rule_1_fuses_in_other_orders(order):
    assert "RotaryEmbedding" in applied(fuse_rotary_embedding, make(f"{SPLIT}  {JOINED}  {order}"), feed())


def test_rule_1_fuses_one_head_without_an_axis_of_its_own():
    sizes = (BATCH, LENGTH, WIDTH)
    tables = {"cos": twice(COS, False), "sin": twice(SIN, False)}
    model = make(f"{SPLIT}  {JOINED}  {SUM}", sizes, **tables)
    assert applied(fuse_rotary_embedding, model, feed(sizes)) == ["RotaryEmbedding"]


def test_tables_may_differ_within_the_batch():
    tables = {
        "cos": twice(random(BATCH, LENGTH, 1, HALF), False),
        "sin": twice(random(BATCH, LENGTH, 1, HALF) + 1, False),
    }
    model = make(f"{SPLIT}  {JOINED}  {SUM}", **tables)
    assert "RotaryEmbedding" in applied(fuse_rotary_embedding, model, feed())


PRODUCTS = (
    "ac = Mul (a, cos)  bs = Mul (b, sin)  bc = Mul (b, cos)  sa = Mul (a, sin)  l = Sub (ac, bs)  g = Add (bc, sa)"
)
UNBOUND = "w = Reshape (x, pairs)  {parts}  " + f"{PRODUCTS}  u = Unsqueeze (l, fourth)  v = Unsqueeze (g, fourth)"
UNBOUND += "  s = Concat <axis: int = 4> (u, v)  y = Reshape (s, sizes)"
PARTS = {
    "neighbours that are gathered": UNBOUND.format(
        parts="a = Gather <axis: int = -1> (w, at0)  b = Gather <axis: int = -1> (w, at1)"
    ),
    "neighbours that are squeezed": UNBOUND.format(
        parts="a0, b0 = Split <axis: int = -1, num_outputs: int = 2> (w)"
        "  a = Squeeze (a0, fourth)  b = Squeeze (b0, fourth)"
    ),
    "halves": f"{SPLIT}  {PRODUCTS}  y = Concat <axis: int = -1> (l, g)",
    "neighbours": f"{EVERY_SECOND}  {PRODUCTS}  u = Unsqueeze (l, fourth)  v = Unsqueeze (g, fourth)"
    "  s = Concat <axis: int = 4> (u, v)  y = Reshape (s, sizes)",
}


@pytest.mark.parametrize("form", PARTS)
def test_rule_2_fuses(form):
    tables = {"cos": COS[None, :, None], "sin": SIN[None, :, None]}
    tables |= {"pairs": np.array([2, 5, 3, 4, 2]), "at0": np.array(0), "at1": np.array(1)}
    found = applied(fuse_rotary_embedding, make(PARTS[form], **tables), feed())
    assert found == ["Reshape", "RotaryEmbedding", "Reshape"]


CUT = {
    "slices": "x = Slice (w, zero, eighth, last)  o = Slice (w, eighth, end, last)",
    "a split": "x, o = Split <axis: int = -1> (w, lengths)",
}


@pytest.mark.parametrize("how", CUT)
@pytest.mark.parametrize("sizes", [LENGTH_FIRST, HEADS_FIRST], ids=["length first", "heads first"])
def test_rule_3_fuses_a_part_of_the_width(how, sizes):
    whole = (*sizes[:3], 12)
    dims = ",".join(map(str, whole))
    body = f"{CUT[how]}  {SPLIT}  {JOINED}  {SUM.replace('y =', 'z =')}  y = Concat <axis: int = -1> (z, o)"
    place = "length" if sizes is LENGTH_FIRST else "heads"
    weights = {"eighth": np.array([8]), "lengths": np.array([8, 4])}
    model = make(body, sizes, place, signature=f"(float[{dims}] w) => (float[{dims}] y)", **weights)
    found = applied(fuse_rotary_embedding, model, {"w": random(*whole)})
    assert [name for name in found if name != "Reshape"] == ["RotaryEmbedding"]


def test_rule_3_leaves_a_rest_that_stands_before_what_is_rotated():
    dims = "2,5,3,12"
    body = f"{CUT['slices']}  {SPLIT}  {JOINED}  {SUM.replace('y =', 'z =')}  y = Concat <axis: int = -1> (o, z)"
    model = make(body, signature=f"(float[{dims}] w) => (float[{dims}] y)", eighth=np.array([8]))
    found = applied(fuse_rotary_embedding, model, {"w": random(2, 5, 3, 12)})
    assert found == ["Slice", "Slice", "Reshape", "RotaryEmbedding", "Reshape", "Concat"]


ANY_SIZE = "(float[batch,length,3,8] x, float[length,4] angles) => (float[batch,length,3,8] y)"
FROM_ANGLES = {
    "concatenated": "t = Concat <axis: int = -1> (angles, angles)  e = Unsqueeze (t, places)",
    "stacked": "s0 = Unsqueeze (angles, one)  s1 = Concat <axis: int = 1> (s0, s0)  t = Reshape (s1, rows)"
    "  e = Unsqueeze (t, places)",
}


FROM_ANGLES_OF_KNOWN_LENGTH = {
    "repeated": "t = Tile (angles, once_twice)  e = Unsqueeze (t, places)",
    "rows of a longer table": "m = Concat <axis: int = -1> (longer, longer)  t = Slice (m, zero, five, zero)"
    "  e = Unsqueeze (t, places)",
    "rows that are looked up": "m = Concat <axis: int = -1> (longer, longer)  t = Gather (m, ids)"
    "  e = Unsqueeze (t, places)",
}


def from_angles(form, signature):
    body = f"{form}  c = Cos (e)  d = Sin (e)  cos = Mul (c, scale)  sin = Mul (d, scale)"
    weights = {"places": np.array([0, 2]), "rows": np.array([-1, 8]), "once_twice": np.array([1, 2])}
    weights |= {"five": np.array([5]), "ids": np.array([4, 3, 0, 9, 1]), "scale": np.float32(1.5)}
    longer = np.concatenate([ANGLES, ANGLES + 1])
    return make(f"{body}  {SPLIT}  {JOINED}  {SUM}", signature=signature, longer=longer, **weights)


@pytest.mark.parametrize("form", FROM_ANGLES)
def test_computed_tables_are_computed_by_half_and_sizes_may_be_dynamic(form):
    model = from_angles(FROM_ANGLES[form], ANY_SIZE)
    found = applied(fuse_rotary_embedding, model, {**feed(), "angles": ANGLES})
    assert found.count("RotaryEmbedding") == 1
    assert "Split" not in found


@pytest.mark.parametrize("form", FROM_ANGLES_OF_KNOWN_LENGTH)
def test_computed_tables_are_computed_by_half_as(form):
    signature = "(float[2,5,3,8] x, float[5,4] angles) => (float[2,5,3,8] y)"
    model = from_angles(FROM_ANGLES_OF_KNOWN_LENGTH[form], signature)
    found = applied(fuse_rotary_embedding, model, {**feed(), "angles": ANGLES})
    assert found.count("RotaryEmbedding") == 1
    assert not {"Split", "Tile"} & set(found)


def test_tables_are_made_once_for_all_that_are_rotated():
    again = "c, e = Split <axis: int = -1, num_outputs: int = 2> (y)  m = Neg (e)  t = Concat <axis: int = -1> (m, c)"
    again += "  p2 = Mul (y, cos)  q2 = Mul (t, sin)  z = Add (p2, q2)"
    signature = "(float[2,5,3,8] x) => (float[2,5,3,8] z)"
    model = make(f"{SPLIT}  {JOINED}  {SUM}  {again}", signature=signature)
    assert applied(fuse_rotary_embedding, model, feed()).count("RotaryEmbedding") == 2
    tables = [value for value in model.graph.initializers.values() if value.shape == [BATCH, LENGTH, HALF]]
    assert len(tables) == 2


NOT_ROTARY = {
    "the halves of the cosines differ": {"cos": random(1, LENGTH, 1, WIDTH)},
    "the halves of the sines differ": {"sin": random(1, LENGTH, 1, WIDTH)},
    "tables differ between heads": {"cos": np.ones(LENGTH_FIRST, np.float32), "sin": np.ones(LENGTH_FIRST, np.float32)},
    "tables are the same everywhere": {
        "cos": np.ones((1, 1, 1, WIDTH), np.float32),
        "sin": np.ones((1, 1, 1, WIDTH), np.float32),
    },
}


@pytest.mark.parametrize("case", NOT_ROTARY)
def test_nothing_is_fused_where(case):
    assert kept(fuse_rotary_embedding, make(f"{SPLIT}  {JOINED}  {SUM}", **NOT_ROTARY[case]))


OTHER_BODIES = {
    "the other half is negative": f"{SPLIT}  n = Neg (a)  r = Concat <axis: int = -1> (b, n)  {SUM}",
    "no half is negative": f"{SPLIT}  r = Concat <axis: int = -1> (b, a)  {SUM}",
    "the halves do not change places": f"{SPLIT}  n = Neg (a)  r = Concat <axis: int = -1> (n, b)  {SUM}",
    "neighbours are put together as halves": f"{EVERY_SECOND}  {JOINED}  {SUM}",
    "another value is rotated": f"w = Relu (x)  {SPLIT}  {JOINED}  {SUM.replace('(x,', '(w,')}",
    "it is a difference": f"{SPLIT}  {JOINED}  {SUM.replace('Add', 'Sub')}",
    "parts are unequal": "a, b = Split <axis: int = -1> (x, parts)  n = Neg (b)  r = Concat <axis: int = -1> (n, a)  "
    + SUM,
}


@pytest.mark.parametrize("case", OTHER_BODIES)
def test_other_bodies_are_left_where(case):
    assert kept(fuse_rotary_embedding, make(OTHER_BODIES[case], parts=np.array([3, 5])))


def test_single_elements_of_a_row_are_left():
    """As where a point is turned by many angles."""
    elements = "row = Reshape (x, whole)  a = Gather (row, zero)  b = Gather (row, one)"
    turned = "p = Mul (a, cos)  q = Mul (b, sin)  u = Sub (p, q)  r = Mul (b, cos)  s = Mul (a, sin)  v = Add (r, s)"
    numbers = {"whole": np.array([2]), "zero": np.array(0), "one": np.array(1), "cos": COS[0], "sin": SIN[0]}
    text = f"(float[1,2] x) => (float[8] y) {{ {elements}  {turned}  y = Concat <axis: int = 0> (u, v) }}"
    assert kept(fuse_rotary_embedding, graph(text, numbers))


def test_a_product_that_somebody_else_reads_stays():
    signature = "(float[2,5,3,8] x) => (float[2,5,3,8] y, float[2,5,3,8] q)"
    assert kept(fuse_rotary_embedding, make(f"{SPLIT}  {JOINED}  {SUM}", signature=signature))


def test_tables_of_another_length_that_is_dynamic_are_not_fused():
    body = "t = Concat <axis: int = -1> (angles, angles)  e = Unsqueeze (t, places)  cos = Cos (e)  sin = Sin (e)"
    signature = ANY_SIZE.replace("float[length,4] angles", "float[other,4] angles")
    model = make(f"{body}  {SPLIT}  {JOINED}  {SUM}", signature=signature, places=np.array([0, 2]))
    assert kept(fuse_rotary_embedding, model)


def test_nothing_is_fused_where_sizes_are_unknown():
    model = make(f"{SPLIT}  {JOINED}  {SUM}")
    model.graph.inputs[0].shape = None
    assert kept(fuse_rotary_embedding, model)


def test_float64_is_not_fused():
    tables = {
        "cos": twice(COS, False)[None, :, None].astype(float),
        "sin": twice(SIN, False)[None, :, None].astype(float),
    }
    signature = "(double[2,5,3,8] x) => (double[2,5,3,8] y)"
    assert kept(fuse_rotary_embedding, make(f"{SPLIT}  {JOINED}  {SUM}", signature=signature, **tables))
