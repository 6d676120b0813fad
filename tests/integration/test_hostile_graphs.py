"""A graph of TensorFlow that a bundle holds computes, and does nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile_graphs import HARMFUL, HARMLESS, MARKER

from irbench.worker import Worker

pytestmark = pytest.mark.ci

if find_spec("irbench_tf") is None or find_spec("tensorflow") is None:
    pytest.skip("TensorFlow is not installed", allow_module_level=True)

Ask = Callable[..., Any]

KNOWN_TO_HARM = (
    "AudioSummaryV2", "BatchFunction", "CacheDataset", "CloseSummaryWriter", "CollectiveReduceV2",
    "CreateSummaryFileWriter", "DebugIdentity", "DebugIdentityV2", "DecodeProtoV2", "DeleteOldDirs", "EagerPyFunc",
    "EncodeProto", "FileSystemSetConfiguration", "FixedLengthRecordDatasetV2", "GenerateVocabRemapping",
    "HashTableV2", "ImmutableConst", "InitializeTableFromTextFile", "IteratorGetNext", "LMDBDataset",
    "LoadAndRemapMatrix", "LoadDataset", "LookupTableFindV2", "MatchingFiles", "MergeV2Checkpoints", "Print",
    "PrintV2", "PyFunc", "PyFuncStateless", "ReadFile", "ReaderReadV2", "RemoteCall", "Restore", "RestoreSlice",
    "Save", "SaveDataset", "SaveSlices", "SaveV2", "SnapshotDataset", "SqlDataset", "TFRecordDataset",
    "TextLineDataset", "WholeFileReaderV2", "WriteFile", "WriteGraphSummary", "WriteRawProtoSummary",
    "WriteScalarSummary", "XlaCustomCall", "_Recv", "_Send", "NoSuchOperator",
)  # fmt: skip


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with Worker(tmp_path_factory.mktemp("worker") / "log") as process:
        yield lambda function, *arguments: process.ask(f"hostile_graphs:{function}", *arguments, deadline_s=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="module")
def found(ask: Ask, folder: Path) -> Mapping[str, Any]:
    answers: Mapping[str, Any] = ask("answers", "tf", folder, (*HARMFUL, *HARMLESS))
    return answers


@pytest.mark.parametrize("kind", HARMFUL)
def test_a_graph_that_does_more_than_compute_is_refused_and_the_operator_named(found: Mapping[str, Any], kind: str):
    message, hint = found[kind]
    assert "contains operators that do more than compute: " in message
    assert kind.partition(" ")[0] in message.partition(": ")[2].rstrip(".").split(", ")
    assert "do not trust" in hint


@pytest.mark.usefixtures("found")
def test_nothing_of_a_refused_graph_is_run(folder: Path):
    assert not list(folder.glob(f"{MARKER}*"))


def test_a_graph_whose_constants_claim_more_memory_than_it_stores_is_refused(ask: Ask, folder: Path):
    for message, hint in ask("answers_of_claims", "tf", folder):
        assert "claim 4.3 GB or more of memory that the file does not hold" in message
        assert "do not trust" in hint


@pytest.mark.parametrize("kind", HARMLESS)
def test_operators_with_state_or_text_that_only_compute_are_run(found: Mapping[str, Any], kind: str):
    outputs, _ = found[kind]
    np.testing.assert_allclose(outputs[0], np.ones((2, 3)), rtol=1e-6)


def test_operators_that_use_files_networks_or_python_are_refused(ask: Ask):
    assert ask("accepted", KNOWN_TO_HARM) == []


def test_the_lists_of_harmless_operators_name_those_that_there_are(ask: Ask):
    assert ask("unknown") == []
