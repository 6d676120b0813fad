"""Image classifiers that Keras itself ships, built without trained weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image


@dataclass(frozen=True)
class Family:
    """Classifiers of ``keras.applications`` that are built alike.

    Attributes:
        kind: What kind of network they are, ``residual CNN`` for example.
        blocks: What they are made of, for listings.
        low: Smallest value of their inputs, as their ``preprocess_input`` leaves them.
        high: Largest value likewise.
    """

    kind: str
    blocks: str
    low: float
    high: float

    def model(self, name: str, constructor: str, size: int, layers: int, parameters: int, macs: int) -> ModelSource:
        """Return one of them.

        Args:
            name: The name used on the command line.
            constructor: Its name in ``keras.applications``.
            size: Height and width of its three-channel input.
            layers: Convolutions and dense layers on the longest way from the input to the classes.
            parameters: As :class:`irbench.spi.ModelSource` counts them.
            macs: Likewise.
        """
        return ModelSource(
            name=name,
            family=self.kind,
            summary=f"{layers} layers, {self.blocks}",
            inputs=image(size, self.low, self.high),
            build=partial(build_application, constructor, size),
            defaults={},
            parameters=parameters,
            macs=macs,
        )


def build_application(constructor: str, size: int) -> Any:
    """Return the classifier of 1000 classes as an uncompiled ``keras.Model``; imports Keras.

    Args:
        constructor: Its name in ``keras.applications``.
        size: Height and width of its three-channel input.
    """
    import keras

    pixels = keras.Input((size, size, 3), name=IMAGE)
    return getattr(keras.applications, constructor)(weights=None, input_tensor=pixels)
