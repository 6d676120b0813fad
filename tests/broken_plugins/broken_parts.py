"""The contracts of the broken parts, which pytest is called for in an environment that has these."""

from irbench.testing import BackendContract, ExporterContract, ProfileContract


class TestReused(BackendContract):
    backend = "reused"


class TestStale(BackendContract):
    backend = "stale"


class TestShared(BackendContract):
    backend = "shared"


class TestWrong(BackendContract):
    backend = "wrong"


class TestMislabelled(BackendContract):
    backend = "mislabelled"


class TestObliging(BackendContract):
    backend = "obliging"


class TestRestless(BackendContract):
    backend = "restless"


class TestCrashing(BackendContract):
    backend = "crashing"


class TestEager(BackendContract):
    backend = "eager"


class TestUnphased(BackendContract):
    backend = "unphased"


class TestTwice(BackendContract):
    backend = "twice"


class TestMissing(BackendContract):
    backend = "no_such_backend"


class TestUnlike(ExporterContract):
    exporter = "unlike"
    source = "broken_chains.py:unlike"


class TestUnseeded(ExporterContract):
    exporter = "unseeded"
    source = "broken_chains.py:unseeded"


class TestGreedy(ExporterContract):
    exporter = "greedy"
    source = "broken_chains.py:greedy"


class TestMisfit(ExporterContract):
    exporter = "misfit"
    source = "broken_chains.py:misfit"


class TestBatchless(ExporterContract):
    exporter = "batchless"
    source = "broken_chains.py:batchless"


class TestHollow(ExporterContract):
    exporter = "hollow"
    source = "broken_chains.py:hollow"


class TestRecording(ProfileContract):
    backend = "recording"


class TestLosing(ProfileContract):
    backend = "losing"


class TestMakingUp(ProfileContract):
    backend = "making_up"


class TestLittering(ProfileContract):
    backend = "littering"


class TestElsewhere(ProfileContract):
    backend = "elsewhere"


class TestNameless(ProfileContract):
    backend = "nameless"


class TestEverlasting(ProfileContract):
    backend = "everlasting"


class TestLate(ProfileContract):
    backend = "late"


class TestOtherwise(ProfileContract):
    backend = "otherwise"


class TestSilent(ProfileContract):
    backend = "silent"
