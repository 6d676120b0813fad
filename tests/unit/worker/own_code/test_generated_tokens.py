"""What a function that generates may return, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.errors import IrbenchError
from irbench.spec import Artifact, TensorSpec
from irbench.spec.generation import GenerationArtifact, GenerationGraph
from irbench.worker.own_code.generated_tokens import generated_tokens

PROMPT = np.array([[5, 6, 7], [8, 9, 1]], np.int64)
NEW = np.array([[1, 2], [3, 4]], np.int64)
WHOLE = np.concatenate([PROMPT, NEW], axis=1)


def artifact(vocabulary: int | str = 10) -> GenerationArtifact:
    step = GenerationGraph(Artifact("onnx", Path("d.onnx"), (), ()), (), ())
    logits = TensorSpec("logits", "float32", (2, 2, vocabulary))
    return GenerationArtifact("onnx", Path("d.onnx"), (), (logits,), new_tokens=2, step=step)


@pytest.mark.parametrize(
    "outputs",
    [
        (NEW,),
        (WHOLE,),
        [WHOLE.astype(np.int32)],
        WHOLE.tolist(),
        list(NEW),
        (NEW.astype(np.uint16),),
    ],
)
def test_new_tokens_are_read_with_and_without_the_prompt_before_them(outputs: Any) -> None:
    tokens = generated_tokens(outputs, PROMPT, artifact())
    assert tokens.dtype == np.int64
    assert tokens.tolist() == NEW.tolist()


def test_the_only_text_of_a_batch_of_one_may_be_a_row() -> None:
    assert generated_tokens((NEW[0],), PROMPT[:1], artifact()).tolist() == NEW[:1].tolist()


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ((NEW[:, :1],), ("int64 of shape 2x1", "2x2", "2x5")),
        ((WHOLE[:, :4],), ("int64 of shape 2x4",)),
        ((np.pad(WHOLE, ((0, 0), (0, 1))),), ("int64 of shape 2x6",)),
        ((NEW[:1],), ("int64 of shape 1x2",)),
        ((NEW.astype(np.float32),), ("float32 of shape 2x2", "integers")),
        ((NEW > 2,), ("bool",)),
        (("two texts",), ("in place of tokens",)),
        ([[1, 2], [3]], ("list of 2",)),
        ((), ("nothing",)),
    ],
)
def test_other_than_as_many_integers_as_were_asked_for_are_refused(outputs: Any, said: tuple[str, ...]) -> None:
    with pytest.raises(IrbenchError) as refused:
        generated_tokens(outputs, PROMPT, artifact())
    assert all(word in refused.value.message for word in said)
    assert "cell.new_tokens" in str(refused.value.hint)


def test_texts_that_do_not_begin_with_their_prompts_are_refused() -> None:
    with pytest.raises(IrbenchError, match="do not begin with the prompt") as refused:
        generated_tokens((WHOLE[::-1],), PROMPT, artifact())
    assert refused.value.hint


@pytest.mark.parametrize("token", [-1, 10])
def test_tokens_outside_of_the_vocabulary_are_refused_where_its_size_is_known(token: int) -> None:
    wrong = np.where(NEW == 4, token, NEW)
    with pytest.raises(IrbenchError, match=f"token {token}, and the decoder knows 10: 0 to 9"):
        generated_tokens((wrong,), PROMPT, artifact())
    assert generated_tokens((wrong,), PROMPT, artifact("vocabulary")).tolist() == wrong.tolist()
