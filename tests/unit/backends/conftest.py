import pytest


@pytest.fixture
def fp32_afterwards():
    """Keras keeps the precision that a test trains in for the whole process: the tests behind it get fp32."""
    yield
    import keras

    keras.config.set_dtype_policy("float32")
