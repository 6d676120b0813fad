"""Images become inputs: the size, layout, channels and range of the input."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hostile_files import png_header

from irbench.data.images import LARGEST_BYTES, images_by_class, is_image_input, read_image, require_images
from irbench.data.model_inputs import ModelInput
from irbench.errors import IrbenchError
from irbench.spec import InputSpec, TensorSpec

Image = pytest.importorskip("PIL.Image", reason="images need Pillow")


def image_input(*shape: int | str, dtype: str = "float32", low: float = 0.0, high: float = 1.0) -> ModelInput:
    return ModelInput(InputSpec(TensorSpec("image", dtype, shape), low, high), ("image",), 0, ())


def write(folder: Path, pixels: np.ndarray, name: str = "a.png") -> Path:
    folder.mkdir(exist_ok=True)
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


@pytest.mark.parametrize("width", [10_000, 40_000])
def test_an_image_with_too_many_pixels_is_refused_by_its_header(tmp_path: Path, width: int) -> None:
    bomb = tmp_path / "bomb.png"
    bomb.write_bytes(png_header(width, width))  # nothing behind the header is there to be decoded
    with pytest.raises(IrbenchError, match=r"bomb\.png has more than 89 million pixels"):
        require_images([bomb])
    with pytest.raises(IrbenchError, match="pixels"):
        require_images([bomb], decoded=0)
    with pytest.raises(IrbenchError, match=r"bomb\.png has more than 89 million pixels"):
        read_image(bomb, image_input("batch", 3, 4, 5), {})


def test_a_file_larger_than_any_image_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = write(tmp_path / "cat", RED)
    os.truncate(file, LARGEST_BYTES)
    require_images([file])  # a hole behind an image is not read
    os.truncate(file, LARGEST_BYTES + 1)
    for refused in (lambda: require_images([file]), lambda: images_by_class(tmp_path)):
        with pytest.raises(IrbenchError, match=r"a\.png has 0\.3 GB"):
            refused()


def test_a_folder_of_images_is_a_class_and_what_is_hidden_is_none(tmp_path: Path) -> None:
    for name in ("dog", "cat", ".thumbnails"):
        write(tmp_path / name, RED, "b.PNG")
        write(tmp_path / name, RED)
    write(tmp_path / "cat", RED, "._a.png")
    (tmp_path / "cat" / "folder.png").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").touch()
    write(tmp_path, RED, "cover.png")
    assert images_by_class(tmp_path) == {
        name: (tmp_path / name / "a.png", tmp_path / name / "b.PNG") for name in ("cat", "dog")
    }


def test_a_class_whose_name_is_not_utf_8_is_refused_in_one_line(tmp_path: Path) -> None:
    write(tmp_path / os.fsdecode(b"caf\xe9"), RED)
    with pytest.raises(IrbenchError, match=r"The path /.*/caf\\xe9 is not UTF-8") as caught:
        images_by_class(tmp_path)
    caught.value.message.encode()


def test_a_pipe_or_a_dangling_link_among_the_images_of_a_class_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "cat", RED)
    os.mkfifo(tmp_path / "cat" / "b.png")
    with pytest.raises(IrbenchError, match=r"b\.png is not a regular file"):
        images_by_class(tmp_path)
    (tmp_path / "cat" / "b.png").unlink()
    (tmp_path / "cat" / "b.png").symlink_to(tmp_path / "nowhere")
    with pytest.raises(IrbenchError, match=r"b\.png cannot be read"):
        images_by_class(tmp_path)


def test_only_inputs_with_three_axes_and_channels_take_images() -> None:
    assert is_image_input(image_input("batch", 3, 4, 5))
    assert is_image_input(image_input("batch", 4, 5, 1))
    assert not is_image_input(image_input("batch", 4, 5))
    assert not is_image_input(image_input("batch", 7, 5, 6))
