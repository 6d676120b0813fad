"""SavedModels as they are found in the world: of TensorFlow 1, of older optimizers, with many signatures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from front_door import irbench
from saved_graphs import MARKER, WEIGHTS
from saved_model_checks import Answer

import irbench as api
from irbench.errors import IrbenchError
from irbench.worker import call_in_worker

pytestmark = pytest.mark.ci

ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",
}
PRODUCT = np.ones((2, 4), np.float32) @ WEIGHTS

ANSWERS = {
    "reference variable": {"product": PRODUCT},
    "resource variable": {"product": PRODUCT},
    "partitioned variable": {"product": PRODUCT},
    "several tags": {"product": PRODUCT},
    "another tag": {"product": PRODUCT},
    "objects": {"product": PRODUCT},
    "slots": {"product": PRODUCT},
    "claims elsewhere": {"product": PRODUCT},
    "writes first": {"product": PRODUCT},
    "writes elsewhere": {"product": PRODUCT},
    "writes at start": {"product": PRODUCT},
    "writes in two graphs": {"product": PRODUCT},
    "loop": {"powers": np.full((2, 4), 8)},
    "dropout": {"kept": np.full((2, 4), WEIGHTS[0, 1])},
    "identity": {"rows_again": np.ones((2, 4)), "twice": np.full((2, 4), 2)},
}
REFUSALS = {
    "two signatures": ("none is called serving_default: classify, embed", "--signature classify"),
    "other tags": ("no graph with the tag serve. It has graphs with the tags: train; eval, gpu", "Save it again"),
    "unfed": ("depend on tensors that are not inputs of the signature: rate", "every placeholder"),
    "strings": ("Input text holds strings", "decoded"),
    "table": ("keep tables: HashTableV2, LookupTableFindV2", "only computes"),
    "writes": ("keep tables: WriteFile", "only computes"),
    "writes when read": ("keep tables: WriteFile", "only computes"),
    "writes as object": ("keep tables: WriteFile", "only computes"),
    "reads as object": ("that use files, have side effects or keep tables: ReadFile", "only computes"),
    "looks as object": ("keep tables: MatchingFiles", "only computes"),
    "writes by device": ("keep tables: WriteFile", "only computes"),
    "writes as gradient": ("keep tables: WriteFile", "only computes"),
    "writes if handed on": ("keep tables: WriteFile", "only computes"),
    "claims": ("GB or more of memory that the file does not hold", "do not trust"),
    "claims in a graph": ("GB or more of memory that the file does not hold", "do not trust"),
    "ragged": ("is a ragged tensor", "lengths of its rows"),
    "linked": ("00001 is a link", "cp -rL"),
    "piped": ("variables.index is not a regular file", "not to be trusted"),
    "endless": ("fingerprint.pb is larger than 2 GB", "Save the model again"),
    "garbage": ("is not a SavedModel", "Save it again"),
}
CHOSEN = {
    "chosen": ("two signatures", "embed"),
    "misspelt": ("two signatures", "embde"),
    "unlike any": ("two signatures", "q"),
    "of objects": ("objects", "serving_default"),
    "not of objects": ("objects", "other"),
    "trained": ("exported", None),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("saved")


@pytest.fixture(scope="module")
def found(folder: Path) -> Mapping[str, Answer | str]:
    """Load all of them in one worker: importing TensorFlow takes longer than they do."""
    pytest.importorskip("irbench_tf")
    cases = {kind: (kind, None) for kind in (*ANSWERS, *REFUSALS)} | CHOSEN
    answers: Mapping[str, Answer | str] = call_in_worker(
        "saved_model_checks:load_all", folder, cases, deadline_s=300, environment=ENVIRONMENT
    )
    return answers


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_saved_model_answers_with_its_own_weights(kind, found):
    answer = found[kind]
    assert isinstance(answer, Answer), answer
    assert answer.inputs == (("rows", "float32", (None, 4)),)
    assert answer.outputs.keys() == ANSWERS[kind].keys()
    for name, expected in ANSWERS[kind].items():
        np.testing.assert_allclose(answer.outputs[name], expected)


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_saved_model_that_cannot_be_exported_is_refused_with_a_remedy(kind, found):
    message, hint = REFUSALS[kind]
    assert message in found[kind]
    assert hint in found[kind]


def test_a_signature_is_chosen_by_its_name(found):
    np.testing.assert_allclose(found["chosen"].outputs["negative"], -PRODUCT)
    np.testing.assert_allclose(found["of objects"].outputs["product"], PRODUCT)


def test_a_wrong_signature_is_answered_with_those_there_are(found):
    assert "no signature called embde. It has: classify, embed. Did you mean --signature embed?" in found["misspelt"]
    assert "It has: classify, embed. For example: --signature classify" in found["unlike any"]
    assert "no signature called other. It has: serving_default." in found["not of objects"]


def test_a_trained_model_is_loaded_as_keras_exports_it(found):
    assert isinstance(found["trained"], Answer), found["trained"]
    assert [output.shape for output in found["trained"].outputs.values()] == [(2, 2)]


def test_what_was_checked_is_loaded_where_another_takes_its_place(folder):
    answers = call_in_worker("saved_model_checks:load_exchanged", folder, deadline_s=120, environment=ENVIRONMENT)
    np.testing.assert_allclose(answers["product"], PRODUCT)
    assert not list(folder.rglob(f"*{MARKER}"))


@pytest.mark.usefixtures("found")
def test_neither_loading_nor_initialising_writes_a_file(folder):
    assert not list(folder.rglob(f"*{MARKER}"))
    assert not Path(MARKER).exists()


def test_only_saved_models_have_signatures():
    with pytest.raises(IrbenchError, match="lenet5 is not a SavedModel folder"):
        api.export("lenet5", signature="serving_default", progress=None)


@pytest.mark.slow
def test_an_older_saved_model_is_exported_and_verified_on_every_backend(folder):
    kinds = ("two signatures", "slots", "loop")
    call_in_worker("saved_model_checks:write_all", folder, kinds, deadline_s=120, environment=ENVIRONMENT)
    for kind, *signature in (("two signatures", "--signature", "embed"), ("slots",), ("loop",)):
        exported = irbench("export", folder / kind, *signature)
        name = exported.out.split("  ")[0]
        assert name == ("two signatures-embed" if signature else kind)
        verified = irbench("verify", name, "--backends", "tf,ort,openvino", "--format", "md")
        assert verified.code == 0, verified.out
        assert verified.out.count("| match |") == 3, verified.out
