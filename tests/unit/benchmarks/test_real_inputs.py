import gzip
import io
import json

import numpy as np
import pytest

from benchmarks.real import inputs
from benchmarks.real.subjects import SUBJECTS


def test_each_letter_has_a_shape_of_its_own():
    shapes = {inputs.letter_pixels(letter).tobytes() for letter in inputs.LETTERS}
    assert len(shapes) == len(inputs.LETTERS) == 36
    assert not inputs.letter_pixels(" ").any()


def test_text_is_dark_on_light_and_has_a_margin():
    image = inputs.line_of_text("OCR 1", 48, 320)
    assert image.shape == (48, 320)
    assert image.dtype == np.float32
    assert 0 <= image.min() < 0.2 < 0.8 < image.max() <= 1
    assert (image[:3] > 0.9).all()
    assert (image[:, 200:] > 0.9).all()


def test_a_page_has_lines_with_space_between_them():
    rows = (inputs.page_of_text(0, 320, 640) < 0.5).any(axis=1)
    assert np.count_nonzero(np.diff(rows.astype(int)) == 1) == 3


def test_speech_has_the_harmonics_of_a_voice_and_pauses():
    sound = inputs.speech(0, 2.0)
    assert sound.shape == (32000,)
    assert np.abs(sound).max() == pytest.approx(0.4)
    spectrum = np.abs(np.fft.rfft(sound[:3200]))
    assert 90 < np.argmax(spectrum) * 16000 / 3200 < 3200
    loud = np.abs(inputs.speech(0, 8.0)).reshape(-1, 160).max(axis=1) > 0.05
    assert loud.any()
    assert not loud.all()


def test_every_third_window_is_a_quiet_room():
    levels = [np.abs(inputs.vad_window(seed, 576)).max() for seed in range(6)]
    assert [level < 0.01 for level in levels] == [False, False, True, False, False, True]


def test_notes_start_one_after_the_other():
    sound = inputs.chord(0, 43844)
    before, after = sound[5000:6400], sound[7000:8400]
    assert np.abs(np.fft.rfft(before) - np.fft.rfft(after)).max() > 1


def test_files_are_what_they_claim_to_be():
    compile(inputs.file_bytes(0), "generated", "exec")
    assert json.loads(inputs.file_bytes(1))
    assert gzip.GzipFile(fileobj=io.BytesIO(inputs.file_bytes(2))).read()
    assert inputs.file_bytes(3).startswith(b"\x89PNG\r\n\x1a\n")
    assert inputs.file_bytes(4).startswith(b"<!DOCTYPE html>")
    assert inputs.file_bytes(5).startswith(b"word,count")


def test_samples_are_the_same_each_time_and_differ_from_each_other(subtests):
    for subject in SUBJECTS:
        with subtests.test(subject=subject):
            first, again, other = subject.sample(0), subject.sample(0), subject.sample(1)
            assert all(np.array_equal(own, same) for own, same in zip(first, again, strict=True))
            assert any(not np.array_equal(own, another) for own, another in zip(first, other, strict=True))
            assert [array.shape for array in first] == [array.shape for array in other]
