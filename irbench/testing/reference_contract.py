"""The contract that every reference keeps: a backend whose answers may be trusted as expected."""

from __future__ import annotations

from typing import ClassVar

from irbench.core import registry
from irbench.spec import Load
from irbench.testing.runtime_contract import RuntimeContract
from irbench.testing.small_model_contract import SAMPLES


class ReferenceContract(RuntimeContract):
    """What every reference of ``irbench.references`` keeps.

    A subclass whose name begins with ``Test`` names it::

        class TestMine(ReferenceContract):
            reference = "mine"

    Another reference that reads the same kind of model must give the same answers; where none is installed, override
    :meth:`expected`.
    """

    reference: ClassVar[str]
    group = registry.REFERENCES
    load = Load(batch=SAMPLES)

    @classmethod
    def subject(cls) -> str:
        """Return the name of the reference."""
        return cls.reference
