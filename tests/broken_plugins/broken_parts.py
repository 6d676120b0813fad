"""The contracts of the broken parts, which pytest is called for in an environment that has these."""

from irbench.testing import BackendContract, ExporterContract


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
