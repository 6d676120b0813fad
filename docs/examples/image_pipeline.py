"""A picture in, its five best classes out: the stages of a service that classifies images, as a row of irbench.

PICTURE=photo.jpg irbench run resnet18.onnx --backends ort --cell service=docs/examples/image_pipeline.py:stages

The model takes one picture of shape 1 x 3 x height x width. Needs Pillow: pip install pillow
"""

import io
import os
from pathlib import Path

import numpy as np
from PIL import Image

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


def stages(cell):
    """Return the stages in order; each is given what the one before it returned."""
    (shape,) = cell.shapes.values()
    height, width = shape[2:]
    content = Path(os.environ["PICTURE"]).read_bytes()  # once: a service gets its pictures by the network

    def receive(_inputs):  # irbench's inputs, which this row does not need
        return content

    def resize(picture):
        return picture.resize((width, height), Image.Resampling.BILINEAR)

    return {
        "receive": receive,
        "decode": decode,
        "resize": resize,
        "normalise": normalise,
        "model": os.environ.get("BACKEND", "ort"),
        "best": best,
    }


def decode(content):
    """Return the picture of a JPEG or a PNG file; Pillow decodes it here and not when it is first used."""
    return Image.open(io.BytesIO(content)).convert("RGB")


def normalise(picture):
    """Return pixels as ImageNet's models take them, channels first."""
    pixels = (np.asarray(picture, np.float32) / 255 - MEAN) / DEVIATION
    return pixels.transpose(2, 0, 1)[None]


def best(outputs):
    """Find the five best classes; what a last stage returns would be compared with the outputs of the model."""
    best.classes = np.argsort(outputs[0][0])[::-1][:5]
