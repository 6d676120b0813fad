"""Images become inputs: the size, layout, channels and range of the input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irbench.data.images import is_image_input, read_image
from irbench.data.model_inputs import ModelInput
from irbench.errors import IrbenchError
from irbench.spec import InputSpec, TensorSpec

Image = pytest.importorskip("PIL.Image", reason="images need Pillow")


def image_input(*shape: int | str, dtype: str = "float32", low: float = 0.0, high: float = 1.0) -> ModelInput:
    return ModelInput(InputSpec(TensorSpec("image", dtype, shape), low, high), ("image",), 0, ())


def write(folder: Path, pixels: np.ndarray, name: str = "a.png") -> Path:
    Image.fromarray(pixels.astype(np.uint8)).save(folder / name)
    return folder / name


RED = np.broadcast_to(np.array([255, 0, 0]), (6, 8, 3))


def test_an_image_is_resized_and_has_the_layout_of_its_input(tmp_path: Path) -> None:
    file = write(tmp_path, RED)
    last = read_image(file, image_input("batch", 4, 5, 3), {})
    first = read_image(file, image_input("batch", 3, 4, 5), {})
    assert last.shape == (4, 5, 3)
    assert last[0, 0].tolist() == [1, 0, 0]
    assert first.shape == (3, 4, 5)
    np.testing.assert_array_equal(first.transpose(1, 2, 0), last)


def test_pixels_are_scaled_to_the_range_of_the_input(tmp_path: Path) -> None:
    pixels = read_image(write(tmp_path, RED), image_input("batch", 3, 4, 5, low=-1, high=1), {})
    assert pixels[:, 0, 0].tolist() == [1, -1, -1]


def test_integers_are_pixels_as_they_are(tmp_path: Path) -> None:
    pixels = read_image(write(tmp_path, RED), image_input("batch", 4, 5, 3, dtype="uint8"), {})
    assert pixels[0, 0].tolist() == [255, 0, 0]
    with pytest.raises(IrbenchError, match="cannot hold pixels"):
        read_image(tmp_path / "a.png", image_input("batch", 4, 5, 3, dtype="int8"), {})


def test_colours_become_grey_where_the_input_has_one_channel(tmp_path: Path) -> None:
    assert read_image(write(tmp_path, RED), image_input("batch", 1, 4, 5), {}).shape == (1, 4, 5)


@pytest.mark.parametrize("channels", [1, 3])
def test_grey_of_16_bits_is_scaled_from_black_to_white(tmp_path: Path, channels: int) -> None:
    ramp = np.tile(np.linspace(0, 65535, 256).astype(np.uint16), (2, 1))
    Image.fromarray(ramp).save(tmp_path / "deep.png")
    pixels = read_image(tmp_path / "deep.png", image_input("batch", 2, 256, channels, dtype="uint8"), {})
    assert pixels.shape == (2, 256, channels)
    for channel in range(channels):
        assert pixels[0, :, channel].tolist() == list(range(256))


def test_a_dynamic_size_is_taken_from_what_is_known_and_otherwise_asked_for(tmp_path: Path) -> None:
    file, dynamic = write(tmp_path, RED), image_input("batch", 3, "height", "width")
    assert read_image(file, dynamic, {"height": 4, "width": 5}).shape == (3, 4, 5)
    with pytest.raises(IrbenchError, match="any size") as caught:
        read_image(file, dynamic, {})
    assert "--shape image=1x3x224x224" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a" + bytes(50)])
def test_what_is_no_image_is_refused_with_the_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.png").write_bytes(content)
    with pytest.raises(IrbenchError, match=r"bad\.png is not a readable"):
        read_image(tmp_path / "bad.png", image_input("batch", 3, 4, 5), {})


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(IrbenchError, match="not a readable"):
        read_image(write(tmp_path, RED), image_input("batch", 3, 4, 5), {})


def test_only_inputs_with_three_axes_and_channels_take_images() -> None:
    assert is_image_input(image_input("batch", 3, 4, 5))
    assert is_image_input(image_input("batch", 4, 5, 1))
    assert not is_image_input(image_input("batch", 4, 5))
    assert not is_image_input(image_input("batch", 7, 5, 6))
