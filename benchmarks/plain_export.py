"""The way to ONNX without irbench: ``python -m benchmarks.plain_export FILE`` builds ResNet-50 and converts it."""

from __future__ import annotations

import sys
from typing import Any


def export(path: str) -> None:
    """Write ResNet-50 with random weights, as Keras and tf2onnx do it by themselves."""
    import keras
    import tensorflow as tf
    import tf2onnx

    model: Any = keras.applications.ResNet50(weights=None)  # pyright: ignore[reportArgumentType] - None is documented

    @tf.function  # type: ignore[untyped-decorator]
    def infer(image: Any) -> Any:
        return model(image, training=False)

    signature = [tf.TensorSpec((None, 224, 224, 3), tf.float32, name="image")]
    tf2onnx.convert.from_function(infer, input_signature=signature, opset=18, output_path=path)


if __name__ == "__main__":
    export(sys.argv[1])
