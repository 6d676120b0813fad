"""Errors inside a model, as Keras and TensorFlow word them, and what is said of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from irbench.errors import ExitCode, IrbenchError
from irbench_tf.model_errors import blaming_model, cause_of

NET = SimpleNamespace(name="net", source="my nets.py:net")


class InvalidArgumentError(Exception):
    """As TensorFlow names what does not fit."""


OF_KERAS = (
    "Exception encountered when calling PositionEmbedding.call().\n\n\x1b[1m{{function_node"
    " __wrapped__AddV2_device_/job:localhost/replica:0/task:0/device:CPU:0}} Incompatible shapes: [8,128,32] vs."
    " [64,32] [Op:AddV2] name: \x1b[0m\n\nArguments received by PositionEmbedding.call():\n  • inputs=tf.Tensor(...)"
)
OF_A_GRAPH = (
    "Graph execution error:\n\nDetected at node model/Reshape defined at (most recent call last):\n<stack traces"
    " unavailable>\nInput to reshape is a tensor with 4096 values, but the requested shape has 2048\n\t"
    " [[{{node model/Reshape}}]] [Op:__inference_call_1234]"
)
OF_INFERENCE = (
    "Exception encountered when calling Branchy.call().\n\n\x1b[1mCould not automatically infer the output shape of"
    " 'branchy'. Either ... method.\n\nError encountered:\n\nUsing a symbolic tensor as a Python bool is wrong."
    f" {'Try this and that. ' * 50}\x1b[0m\n\nArguments received by Branchy.call():\n  • args=('<KerasTensor>',)"
)
TRIES = " Try this and that." * 9
OF_USER_CODE = (
    'in user code:\n\n    File "nets.py", line 5, in call\n        return x @ y\n\n    ValueError: not a matrix'
)

OF_A_LAYER_IN_A_STEP = (
    'in user code:\n\n    File "keras/trainer.py", line 63, in train_step\n        y_pred = self(x, training=True)\n'
    '    File "keras/traceback_utils.py", line 156, in error_handler  **\n'
    "        raise e.with_traceback(filtered_tb) from None\n\n"
    "    InvalidArgumentError: Exception encountered when calling Small.call().\n    \n"
    "    \x1b[1mDimensions must be equal, but are 9 and 8. Input shapes: [16,8], [9,1].\x1b[0m\n    \n"
    "    Arguments received by Small.call():\n      • x=tf.Tensor(shape=(16, 8))"
)
OF_NESTED_CODE = (
    'in user code:\n\n    File "gan.py", line 5, in train_step\n        loss = self.loss_fn(x)\n\n'
    '    KeyError: in user code:\n    \n        File "gan.py", line 9, in loss_fn\n            return x["image"]\n'
    "    \n        KeyError: 'image'\n"
)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (OF_KERAS, "InvalidArgumentError: Incompatible shapes: [8,128,32] vs. [64,32] (in PositionEmbedding)"),
        (
            OF_A_GRAPH,
            "InvalidArgumentError: Input to reshape is a tensor with 4096 values, but the requested shape has 2048",
        ),
        (
            OF_INFERENCE,
            f"InvalidArgumentError: Using a symbolic tensor as a Python bool is wrong.{TRIES[:-1]} ... (in Branchy)",
        ),
        (OF_USER_CODE, "InvalidArgumentError: ValueError: not a matrix"),
        (
            OF_A_LAYER_IN_A_STEP,
            "InvalidArgumentError: Dimensions must be equal, but are 9 and 8. Input shapes: [16,8], [9,1]. (in Small)",
        ),
        (OF_NESTED_CODE, "InvalidArgumentError: KeyError: 'image'"),
        ("plain words", "InvalidArgumentError: plain words"),
        ("", "InvalidArgumentError"),
    ],
    ids=["keras", "graph", "inference", "user code", "layer in a step", "nested code", "plain", "nothing"],
)
def test_the_cause_is_taken_out_of_what_is_wrapped_around_it(said: str, cause: str) -> None:
    assert cause_of(InvalidArgumentError(said)) == cause


@pytest.mark.parametrize(
    ("error", "sizes", "hint"),
    [
        (
            InvalidArgumentError("no fit"),
            {"batch": 8, "sequence": 128},
            "then run it: irbench export 'my nets.py:net' --shape sequence=64",
        ),
        (InvalidArgumentError("no fit"), {"batch": 8}, "calling it in Python"),
        (
            MemoryError(),
            {"batch": 8, "sequence": 128},
            "smaller size: irbench export 'my nets.py:net' --shape sequence=64",
        ),
        (MemoryError(), {"batch": 8}, "more memory"),
        (TypeError("Using a symbolic tf.Tensor as a Python bool"), {"batch": 8}, "keras.ops"),
    ],
)
def test_a_model_that_cannot_be_run_is_named_with_its_sizes_and_a_remedy(error, sizes, hint) -> None:
    with pytest.raises(IrbenchError, match=r"^net cannot be run with batch=8") as caught, blaming_model(NET, sizes):
        raise error
    assert hint in caught.value.hint
    assert caught.value.exit_code is ExitCode.USAGE


def test_what_irbench_says_itself_is_left_alone() -> None:
    with pytest.raises(IrbenchError, match=r"^no weights$"), blaming_model(NET, {}):
        raise IrbenchError("no weights")
