import numpy as np
import onnx_ir as ir
import pytest
from graphs import applied, graph, kept, operations, random

from irbench.optimizer.passes.loop_to_gru import loop_to_gru

STEPS, BATCH, WIDTH, UNITS = 6, 2, 3, 4
X = random(STEPS, BATCH, WIDTH)
CUTS = {f"from{gate}": np.array([gate * UNITS]) for gate in range(4)}
WEIGHTS = CUTS | {
    "kernel": random(WIDTH, 3 * UNITS),
    "matrix": random(UNITS, 3 * UNITS),
    "b": random(3 * UNITS),
    "rb": random(1, 3 * UNITS),
    "zeros": np.zeros((BATCH, UNITS), np.float32),
    "h0": random(BATCH, UNITS),
    "zero": np.array(0, np.int32),
    "one": np.array(1, np.int32),
    "unit": np.float32(1),
    "trips": np.array(STEPS),
    "limit": np.array(STEPS, np.int32),
    "true": np.array(True),
    "axis": np.array([1]),
    "first": np.array([0]),
    "last": np.array([-1]),
    "end": np.array([2**31 - 1]),
    "lengths": np.full(BATCH, STEPS),
}
GATES = """
    a = MatMul (step, kernel)  ab = Add (a, b)
    az, ar, ah = Split <axis: int = -1, num_outputs: int = 3> (ab)
"""
AFTER = f"""{GATES}
    c = MatMul (h, matrix)  cb = Add (c, rb)
    cz = Slice (cb, from0, from1, axis)  cr = Slice (cb, from1, from2, axis)  ch = Slice (cb, from2, from3, axis)
    sz = Add (az, cz)  z = Sigmoid (sz)  sr = Add (cr, ar)  r = Sigmoid (sr)
    rc = Mul (ch, r)  sh = Add (ah, rc)  hh = Tanh (sh)
"""
BEFORE = f"""{GATES}
    mz = Slice (matrix, from0, from1, axis)  mr = Slice (matrix, from1, from2, axis)
    mh = Slice (matrix, from2, from3, axis)
    cz = MatMul (h, mz)  cr = MatMul (h, mr)
    sz = Add (az, cz)  z = Sigmoid (sz)  sr = Add (ar, cr)  r = Sigmoid (sr)
    rh = Mul (r, h)  ch = MatMul (rh, mh)  sh = Add (ch, ah)  hh = Tanh (sh)
"""
STATE = "zh = Mul (z, h)  nz = Sub (unit, z)  new = Mul (nz, hh)  next = Add (zh, new)"


GO = "go = Less (j, limit)"


def loop(cell, sequence="x", start="zeros", name="", state=STATE, trips="trips", go=GO):
    body = f"""
        step = Gather ({sequence}, i)  {cell}  {state}  answer = Identity (next)
        j = Add (i, one)  {go}
    """
    head = f"(int64 count, bool again, int32 i, float[{BATCH},{UNITS}] h)"
    inner = f"body: graph = inner{name} {head} => (bool go, int32 j, float[a,d] next, float[e,f] answer) {{ {body} }}"
    return f"i{name}, state{name}, all{name} = Loop <{inner}> ({trips}, true, zero, {start})"


ANSWERS = f"float[{STEPS},{BATCH},{UNITS}] all"


def make(nodes, output=ANSWERS, **weights):
    inputs = f"float[{STEPS},{BATCH},{WIDTH}] x"
    return graph(f"({inputs}) => ({output}) {{ {nodes} }}", {**WEIGHTS, **weights}, 18)


@pytest.mark.parametrize("start", ["zeros", "h0"])
@pytest.mark.parametrize("cell", [AFTER, BEFORE], ids=["reset after", "reset before"])
def test_rule_1_reads_a_loop_as_one_node(cell, start):
    model = make(loop(cell, start=start))
    found = applied(loop_to_gru, model, {"x": X})
    assert [item for item in found if item not in ("Unsqueeze", "Squeeze")] == ["GRU"]
    gru = next(node for node in model.graph if node.op_type == "GRU")
    assert gru.attributes.get_int("linear_before_reset", 0) == int(cell is AFTER)


def test_rule_1_gives_the_last_state_too():
    model = make(loop(AFTER), f"float[{STEPS},{BATCH},{UNITS}] all, float[{BATCH},{UNITS}] state")
    assert sorted(applied(loop_to_gru, model, {"x": X})) == ["GRU", "Squeeze", "Squeeze"]


ENDLESS = {
    "the counter before the step": "go = Less (i, limit)",
    "the Loop's own counter": "go = Less (count, trips)",
    "the Loop's own counter after the step": "n = Add (count, single)  go = Less (n, trips)",
    "a cast counter": "w = Cast <to: int = 7> (j)  go = Less (w, trips)",
    "a limit beyond the end": "go = Less (j, far)",
}


@pytest.mark.parametrize("case", ENDLESS)
def test_rule_1_sees_that_a_loop_runs_to_the_end_by(case):
    model = make(loop(AFTER, go=ENDLESS[case]), single=np.array(1), far=np.array(50, np.int32))
    assert applied(loop_to_gru, model, {"x": X}).count("GRU") == 1


LAST = "s = Slice (all, last, end, first)  y = Squeeze (s, first)"
TURNED = "xr = ReverseSequence <batch_axis: int = 1, time_axis: int = 0> (x, lengths)"
SIDES = f"float[{STEPS},{BATCH},{2 * UNITS}] y"


def test_rule_2_takes_the_last_answer_for_the_state():
    model = make(f"{loop(AFTER)} {LAST}", f"float[{BATCH},{UNITS}] y")
    assert applied(loop_to_gru, model, {"x": X}) == ["GRU", "Squeeze"]


def test_rule_3_runs_backwards_over_what_was_turned_round():
    model = make(f"{TURNED} {loop(AFTER, 'xr')} {LAST}", f"float[{BATCH},{UNITS}] y")
    assert applied(loop_to_gru, model, {"x": X}) == ["GRU", "Squeeze"]


def test_rule_3_turns_the_answers_round_instead():
    model = make(f"{TURNED} {loop(AFTER, 'xr')} y = Identity (all)", f"float[{STEPS},{BATCH},{UNITS}] y")
    assert sorted(applied(loop_to_gru, model, {"x": X})) == ["GRU", "Identity", "Slice", "Squeeze"]


def test_rule_4_drops_what_turns_the_answers_back():
    back = "y = ReverseSequence <batch_axis: int = 1, time_axis: int = 0> (all, lengths) z = Relu (y)"
    model = make(f"{TURNED} {loop(AFTER, 'xr')} {back}", f"float[{STEPS},{BATCH},{UNITS}] z")
    assert sorted(applied(loop_to_gru, model, {"x": X})) == ["GRU", "Relu", "Squeeze"]


def both(ends, axis):
    back = "r = ReverseSequence <batch_axis: int = 1, time_axis: int = 0> (allb, lengths)"
    if ends:
        back = "sf = Slice (allf, last, end, first)  f = Squeeze (sf, first)  sb = Slice (allb, last, end, first)"
        back += "  r = Squeeze (sb, first)"
    forward = "f" if ends else "allf"
    cells = f"{loop(AFTER, name='f')} {TURNED} {loop(AFTER, 'xr', name='b')}"
    return f"{cells} {back} y = Concat <axis: int = {axis}> ({forward}, r)"


@pytest.mark.parametrize("ends", [True, False], ids=["last states", "all answers"])
def test_rule_5_joins_both_directions(ends):
    model = make(both(ends, -1), f"float[{BATCH},{2 * UNITS}] y" if ends else SIDES)
    found = applied(loop_to_gru, model, {"x": X})
    assert found.count("GRU") == 1
    assert len(found) <= 3


def test_directions_that_are_not_side_by_side_stay_apart():
    model = make(both(False, 0), f"float[{2 * STEPS},{BATCH},{UNITS}] y")
    assert applied(loop_to_gru, model, {"x": X}).count("GRU") == 2


PLAIN = """
    az = MatMul (step, kz)  ar = MatMul (step, kr)  ah = MatMul (step, kh)
    cz = MatMul (h, mz)  cr = MatMul (h, mr)  ch = MatMul (h, mh)
    sz = Add (az, cz)  z = Sigmoid (sz)  sr = Add (ar, cr)  r = Sigmoid (sr)
    rc = Mul (ch, r)  sh = Add (ah, rc)  hh = Tanh (sh)
"""


def of_any_shape(sequence, start, answers, **others):
    nodes = loop(PLAIN).replace(f"[{BATCH},{UNITS}] h)", "[] h)").replace("[a,d] next, float[e,f]", "[] next, float[]")
    nodes = nodes.replace("int32 i,", "int32[] i,").replace("int32 j,", "int32[] j,")
    weights = {f"k{gate}": random(WIDTH, UNITS) for gate in "zrh"} | {
        f"m{gate}": random(UNITS, UNITS) for gate in "zrh"
    }
    dimensions = [",".join(map(str, shape)) for shape in (sequence, answers)]
    text = f"(float[{dimensions[0]}] x) => (float[{dimensions[1]}] all) {{ {nodes} }}"
    return graph(text, {**WEIGHTS, **weights, "zeros": start, **others}, 18)


@pytest.mark.parametrize("shape", [(BATCH, UNITS), (1, UNITS), (UNITS,)])
def test_rule_1_takes_zeros_that_are_stretched_over_the_batch(shape):
    model = of_any_shape((STEPS, BATCH, WIDTH), np.zeros(shape, np.float32), (STEPS, BATCH, UNITS))
    assert applied(loop_to_gru, model, {"x": X}).count("GRU") == 1


NOT_OF_A_BATCH = {
    "steps have no batch": ((STEPS, WIDTH), random(UNITS), (STEPS, UNITS)),
    "steps have no batch and start is zero": ((STEPS, WIDTH), np.zeros(UNITS, np.float32), (STEPS, UNITS)),
    "steps have an axis before the batch": ((STEPS, 1, 1, WIDTH), random(1, UNITS), (STEPS, 1, 1, UNITS)),
    "start is one for the whole batch": ((STEPS, BATCH, WIDTH), random(1, UNITS), (STEPS, BATCH, UNITS)),
    "start is zero and has a batch alone": (
        (STEPS, 1, WIDTH),
        np.zeros((BATCH, UNITS), np.float32),
        (STEPS, BATCH, UNITS),
    ),
}


@pytest.mark.parametrize("case", NOT_OF_A_BATCH)
def test_a_loop_stays_one_whose(case):
    assert kept(loop_to_gru, of_any_shape(*NOT_OF_A_BATCH[case]))


def test_a_loop_stays_one_whose_counter_has_an_axis():
    shapes = ((STEPS, BATCH, WIDTH), random(BATCH, UNITS), (STEPS, 1, BATCH, UNITS))
    assert kept(loop_to_gru, of_any_shape(*shapes, zero=np.array([0], np.int32)))


NOT_A_GRU = {
    "has another activation": loop(AFTER.replace("Tanh", "Relu")),
    "adds something to its candidate": loop(
        AFTER, state=STATE.replace("new = Mul (nz, hh)", "hr = Add (hh, r)  new = Mul (nz, hr)")
    ),
    "complements another gate": loop(AFTER, state=STATE.replace("Sub (unit, z)", "Sub (unit, r)")),
    "complements to another number": loop(AFTER, state=STATE.replace("Sub (unit, z)", "Sub (half, z)")),
    "stops before the end": loop(AFTER, go="go = Less (j, early)"),
    "runs less often than there are steps": loop(AFTER, trips="few"),
    "stops when what it reads says so": loop(
        AFTER, go="top = ReduceMax <keepdims: int = 0> (step)  w = Cast <to: int = 6> (top)  go = Less (w, far)"
    ),
    "stops when a multiple of its counter says so": loop(AFTER, go="jj = Add (j, j)  go = Less (jj, limit)"),
    "counts two ahead": loop(AFTER, go="jj = Add (j, one)  go = Less (jj, limit)"),
    "masks the state": loop(AFTER, state=STATE.replace("Sub (unit, z)", "Where (true, z, z)")),
    "complements to a one with more axes than the state": loop(AFTER, state=STATE.replace("(unit, z)", "(unit3, z)")),
    "adds a bias with more axes than the state": loop(AFTER.replace("Add (a, b)", "Add (a, b3)")),
    "reads every other sample for all": loop(
        AFTER.replace("cz = Slice (cb, from0, from1, axis)", "cz = Slice (cb, corner, edge, both, stride)")
    ),
    "reads a weight that is computed": "wk = Relu (raw)" + loop(AFTER.replace("kernel", "wk")),
}


@pytest.mark.parametrize("case", NOT_A_GRU)
def test_a_loop_stays_that(case):
    weights = {"half": np.float32(0.5), "few": np.array(4)}
    weights |= {"early": np.array(3, np.int32), "far": np.array(50, np.int32)}
    weights |= {"unit3": np.ones((1, 1, 1), np.float32), "b3": random(1, 1, 3 * UNITS), "both": np.array([0, 1])}
    weights |= {"corner": np.array([0, 0]), "edge": np.array([2**31 - 1, UNITS]), "stride": np.array([2, 1])}
    inputs = f"float[{STEPS},{BATCH},{WIDTH}] x, float[{WIDTH},{3 * UNITS}] raw"
    text = f"({inputs}) => (float[n,{BATCH},{UNITS}] all) {{ {NOT_A_GRU[case]} }}"
    assert kept(loop_to_gru, graph(text, {**WEIGHTS, **weights}, 18))


def test_a_loop_that_gives_its_counter_away_stays():
    assert kept(loop_to_gru, make(loop(AFTER), f"float[{STEPS},{BATCH},{UNITS}] all, int32 i"))


GRU = f"GRU <hidden_size: int = {UNITS}> (x, w, rw, gb, uneven)"
CLIPPED = f"GRU <hidden_size: int = {UNITS}, clip: float = 0.1"
OTHERS = {
    "gives its last answer of sequences that end earlier": (
        f"float[{BATCH},{UNITS}] y",
        f"g = {GRU}  q = Squeeze (g, axis)  s = Slice (q, last, end, first)  y = Squeeze (s, first)",
    ),
    "reads what was turned round, of sequences that end earlier": (
        ANSWERS.replace("all", "y"),
        f"{TURNED}  g = {GRU.replace('(x', '(xr')}  y = Squeeze (g, axis)",
    ),
    "gives its answers to what was turned round as they come": (
        f"float[{STEPS},1,{BATCH},{UNITS}] y",
        f"{TURNED}  y = GRU <hidden_size: int = {UNITS}> (xr, w, rw, gb)",
    ),
    "is clipped in one direction alone": (
        SIDES,
        f"""
        g = GRU <hidden_size: int = {UNITS}> (x, w, rw, gb)  q = Squeeze (g, axis)
        k = {CLIPPED}, direction: string = "reverse"> (x, w, rw, gb)  r = Squeeze (k, axis)
        y = Concat <axis: int = 2> (q, r)
        """,
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_gru_that_the_model_had_stays_as_it_is_where_it(case):
    output, nodes = OTHERS[case]
    weights = {"w": random(1, 3 * UNITS, WIDTH), "rw": random(1, 3 * UNITS, UNITS), "gb": random(1, 6 * UNITS)}
    uneven = np.array([3, STEPS], np.int32)
    model = make(f"{loop(AFTER)} {nodes}", f"{ANSWERS}, {output}", **weights, uneven=uneven)
    before = [ir.to_proto(node) for node in model.graph if node.op_type != "Loop"]
    assert loop_to_gru(model)
    assert "Loop" not in operations(model)
    after = [ir.to_proto(node) for node in model.graph]
    assert all(node in after for node in before)


def test_a_graph_without_a_loop_is_left_alone():
    model = make("all = Relu (x)", f"float[{STEPS},{BATCH},{WIDTH}] all")
    assert kept(loop_to_gru, model)
    assert operations(model) == ["Relu"]
