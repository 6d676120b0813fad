"""What was compared is said in a line, and what was not is a warning with a remedy."""

from irbench.core.graph_record import CheckedInput, GraphCheck, UncheckedBody
from irbench.features.optimize.view import check_lines, unchecked_texts

INPUTS = tuple(CheckedInput("seeded", {"batch": batch, "length": length}) for batch, length in ((2, 8), (3, 5), (1, 8)))
SHAPES = "Fix such sizes with --shape to check it"
FOLLOW = "Compare the outputs on inputs that lead into every branch"


def test_inputs_and_sizes_stand_in_one_line():
    checked = GraphCheck((*INPUTS, CheckedInput("mask-half", {"batch": 1, "length": 8})))
    assert list(check_lines(checked)) == ["checked on 4 inputs (seeded, half masked); batch 1, 2 and 3; length 5 and 8"]


def test_fixed_shapes_have_no_sizes():
    assert list(check_lines(GraphCheck((CheckedInput("given"),)))) == ["checked on 1 input (given data)"]


def test_what_was_left_out_has_its_reason():
    checked = GraphCheck(INPUTS, {"constant-rows": "unstable"}, ("length",))
    assert list(check_lines(checked))[1:] == [
        "not checked on constant rows inputs: the original's outputs depend on rounding errors",
        "not checked at other sizes of length: the original runs at none that was tried",
    ]


def test_subgraphs_are_counted_with_those_that_were_not_reached():
    missed = (UncheckedBody("If", "choice", "then_branch"), UncheckedBody("Loop", "again", "body", 0))
    assert list(check_lines(GraphCheck(INPUTS, bodies=2, unchecked=missed)))[1] == (
        "checked 2 of 3 subgraphs of If, Loop and Scan"
    )


def test_what_is_unchecked_is_a_sentence_with_a_remedy():
    missed = (
        UncheckedBody("If", "choice", "then_branch"),
        UncheckedBody("Loop", "again", "body", 0, "original-fails"),
        UncheckedBody("If", "rank", "else_branch", None, "other-shapes"),
        UncheckedBody("Scan", "rows", "body", None, "not-followed"),
    )
    remedy = "Give inputs that lead there with --data"
    assert list(unchecked_texts(GraphCheck(INPUTS, unchecked=missed))) == [
        f"then_branch of If choice was not checked: none of the inputs leads there. {remedy}",
        f"Loop again with 0 iterations was not checked: the original fails there. {remedy}",
        f"else_branch of If rank was not checked: shapes decide, and none that was tried leads there. {SHAPES}",
        f"body of Scan rows was not checked: what is executed could not be followed. {FOLLOW}",
    ]


def test_a_long_list_is_cut():
    checked = GraphCheck(INPUTS, unchecked=(UncheckedBody("If", "choice", "then_branch"),) * 7)
    assert list(unchecked_texts(checked))[-1] == "2 more of such a kind; --format json has all of them"
    assert len(list(unchecked_texts(checked))) == 6
