"""A confined worker sees the variables that runtimes read, and none that its name tells to be a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.core import registry
from irbench.system.confinement import Confinement, confinement_support
from irbench.worker.process import Worker
from irbench.worker.shown_variables import shown_variables

SECRET = (
    *("NVIDIA_API_KEY", "NVIDIA_API_KEYS", "NVIDIA_API_KEY_2", "NVIDIA_KEY_FILE", "NVIDIA_APIKEY", "nvidia_key"),
    *("CUDA_PASS", "CUDA_PASSWORD", "CUDA_PASSWD", "CUDA_PASSPHRASE", "CUDA_PWD", "CUDA_DB_PWD_OLD"),
    *("INTEL_TOKEN", "INTEL_TOKENS", "INTEL_HFTOKEN", "INTEL_SECRETS_FILE", "INTEL_CREDENTIALS", "INTEL_CREDS"),
    *("TORCH_AUTH", "TORCH_OAUTH2", "TORCH_GITHUB_PAT", "TF_VAR_region", "TF_TOKEN_app_terraform_io"),
    *("NVIDIA_SECRETKEY", "NVIDIA_TOKENFILE", "INTEL_PASSWORDFILE", "IRBENCH_AUTHFILE", "CUDA_CREDENTIALSFILE"),
    *("IRBENCH_SECRETVALUE", "TORCH_PASSW", "TPU_SSHKEY", "TORCH_MYPWD"),
    *("PWD", "OLDPWD", "HF_TOKEN", "AWS_REGION", "SSH_AUTH_SOCK"),
)
ALIKE = (
    *("TF_ENCRYPTION", "TF_KEYFRAMES", "TF_AUTHOR", "TF_TOKENIZER_THREADS", "TF_PASSES", "TF_BYPASS_CACHE"),
    *("LD_LIBRARY_PATH", "PYTHONPATH", "OMP_NUM_THREADS", "ROCBLAS_LAYER", "TORCH_LOGS", "JAX_PLATFORMS"),
    *("TVM_NUM_THREADS", "QNN_SDK_ROOT", "ASCEND_HOME_PATH", "HIPBLASLT_LOG_LEVEL", "PATH", "HOME"),
)


def test_secrets_and_variables_of_others_are_hidden() -> None:
    assert shown_variables(dict.fromkeys(SECRET, "x"), ("nvidia_", "TF_")) == {}


def test_what_only_looks_like_a_secret_is_shown() -> None:
    alike = dict.fromkeys(ALIKE, "x")
    assert shown_variables(alike, ("TF_",)) == alike


def test_backends_and_references_declare_what_their_runtimes_read() -> None:
    declared = registry.variables()
    assert {"KERAS_", "ORT_", "OPENVINO_", "ONNX", "FAKE_RUNTIME_"} <= set(declared)
    assert "" not in declared
    asked = {"KERAS_BACKEND": "jax", "FAKE_RUNTIME_SPIN": "1"}
    assert shown_variables(asked, declared) == asked
    assert shown_variables(asked) == {}


@pytest.mark.skipif(not confinement_support().landlock, reason="no confinement on this kernel")
def test_a_confined_worker_sees_what_a_backend_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RUNTIME_SPIN", "1")
    monkeypatch.setenv("FAKE_RUNTIME_PASS", "1")
    with Worker(tmp_path / "log", confinement=Confinement(for_runtime=True)) as worker:
        seen = [worker.ask("os:getenv", name, deadline_s=30) for name in ("FAKE_RUNTIME_SPIN", "FAKE_RUNTIME_PASS")]
    assert seen == ["1", None]


@pytest.mark.skipif(not confinement_support().landlock, reason="no confinement on this kernel")
def test_a_confined_worker_may_write_what_cuda_compiles_and_only_where_nobody_chose_another_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CUDA_CACHE_PATH", str(Path.home()))
    allowed = Confinement(for_runtime=True)
    with Worker(tmp_path / "log", confinement=allowed) as worker:
        cache = worker.ask("os:getenv", "CUDA_CACHE_PATH", deadline_s=60.0)
        assert cache == worker.ask("os:getenv", "TMPDIR", deadline_s=60.0)
    chosen = str(tmp_path / "cold")
    with Worker(tmp_path / "log", confinement=allowed, environment={"CUDA_CACHE_PATH": chosen}) as worker:
        assert worker.ask("os:getenv", "CUDA_CACHE_PATH", deadline_s=60.0) == chosen
    with Worker(tmp_path / "log") as worker:
        assert worker.ask("os:getenv", "CUDA_CACHE_PATH", deadline_s=60.0) == str(Path.home())
