import sys

import pytest


@pytest.fixture(autouse=True)
def precision_of_keras():
    """Keras keeps the precision that a test trains in for the whole process: other tests get fp32."""
    yield
    keras = sys.modules.get("keras")
    if keras is not None:
        keras.config.set_dtype_policy("float32")
