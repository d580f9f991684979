"""`irtool run --input data=cat.png`: images become arrays by options alone, and a note says how."""

from __future__ import annotations

import builtins
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

Image = pytest.importorskip("PIL.Image")

NET = '#[version = "0.0.5"]\ndef @main(%data: Tensor[({}), {}]) {{ %data }}\n'
PIXELS = np.random.RandomState(0).randint(0, 256, (6, 9, 3), dtype="uint8")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.fromarray(PIXELS).save("cat.png")


def read_image(shape: str, *words: str, dtype: str = "float32", file: str = "cat.png") -> tuple[np.ndarray, str]:
    """The array that a network gets, and the note on it."""
    Path("net.relay").write_text(NET.format(shape, dtype))
    code, _, err = irtool("run", "net.relay", "--input", f"data={file}", "-o", "out.npz", *words)
    assert code == 0, err
    return np.load("out.npz")["out0"], err.splitlines()[0]


def test_pixels_as_they_are() -> None:
    got, note = read_image("1, 3, 6, 9")
    np.testing.assert_array_equal(got, (PIXELS.astype("float32") / np.float32(255)).transpose(2, 0, 1)[None])
    assert note == "note: %data is cat.png: 6x9 pixels, RGB, pixel / 255; NCHW, float32[1, 3, 6, 9]"


@pytest.mark.parametrize(
    ("layout", "shape", "want"),
    [
        ("NHWC", "1, 6, 9, 3", PIXELS[None]),
        ("HWC", "6, 9, 3", PIXELS),
        ("CHW", "3, 6, 9", PIXELS.transpose(2, 0, 1)),
        ("NCHW", "1, 3, 6, 9", PIXELS.transpose(2, 0, 1)[None]),
    ],
)
def test_layouts(layout: str, shape: str, want: np.ndarray) -> None:
    got, note = read_image(shape, "--scale=1", f"--layout={layout}", dtype="uint8")
    np.testing.assert_array_equal(got, want)
    assert f"pixels from 0 to 255; {layout}, uint8[{shape}]" in note


def test_mean_and_standard_deviation_of_channels_in_their_order() -> None:
    words = ("--mean=103.5,116.25,123", "--std=2", "--channels=BGR", "--scale=1", "--layout=NHWC")
    got, note = read_image("1, 6, 9, 3", *words)
    want = (PIXELS[:, :, ::-1].astype("float32") - np.float32([103.5, 116.25, 123])) / np.float32(2)
    np.testing.assert_array_equal(got[0], want)
    assert "BGR, (pixel - [103.5, 116.25, 123]) / 2;" in note


def test_resizing_as_torchvision_does() -> None:
    """The shorter side, then the centre; height stands before width."""
    got, note = read_image("1, 3, 4, 4", "--resize=4", "--crop=4", "--scale=1", dtype="uint8")
    small = np.asarray(Image.fromarray(PIXELS).resize((6, 4), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(got[0].transpose(1, 2, 0), small[:, 1:5])
    assert "6x9 pixels, resized to 4x6 (bilinear), cut to 4x4 at the centre, RGB" in note
    got, note = read_image("1, 3, 5, 7", "--resize=5x7", "--scale=1", dtype="uint8")
    stretched = np.asarray(Image.fromarray(PIXELS).resize((7, 5), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(got[0].transpose(1, 2, 0), stretched)
    Image.fromarray(PIXELS.transpose(1, 0, 2)).save("upright.png")
    assert "resized to 6x4 (bilinear)" in read_image("1, 3, 6, 4", "--resize=4", file="upright.png")[1]


def test_what_a_note_says_of_other_images() -> None:
    Image.fromarray(PIXELS[:, :, 0]).save("grey.png")
    got, note = read_image("1, 1, 6, 9", "--channels=gray", "--scale=1", dtype="uint8", file="grey.png")
    np.testing.assert_array_equal(got[0, 0], PIXELS[:, :, 0])
    assert "6x9 pixels, gray, pixels" in note
    Image.fromarray(np.dstack([PIXELS, PIXELS[:, :, :1]])).save("clear.png")
    assert "transparency ignored" in read_image("1, 3, 6, 9", file="clear.png")[1]
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(PIXELS).save("turned.png", exif=exif)
    got, note = read_image("1, 3, 9, 6", "--scale=1", dtype="uint8", file="turned.png")
    assert "9x6 pixels, turned upright" in note
    np.testing.assert_array_equal(got[0].transpose(1, 2, 0), np.rot90(PIXELS, -1))
    frames = [Image.fromarray(PIXELS), Image.fromarray(255 - PIXELS)]
    frames[0].save("moving.gif", save_all=True, append_images=frames[1:])
    assert "the first of 2 frames" in read_image("1, 3, 6, 9", file="moving.gif")[1]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("--input data=cat.png", 1, "axis 2 is 4 and 6"),
        (
            "--input data=cat.png",
            1,
            "help: --resize, --crop, --layout and --channels say how an image becomes an array",
        ),
        ("--input data=cat.png --crop 7", 1, "cat.png: error: the image has 6x9 pixels, and --crop asks for 7x7"),
        ("--input data=cut.png", 1, "cut.png: error[E0001]: the image cannot be read"),
        ("--input data=deep.png", 1, "deep.png: error: the image has values of more than 8 bits"),
        ("--mean 1", 2, "--mean is for images, and no --input names one"),
        ("--input data=none.png --mean 1", 1, "cannot read none.png"),
        ("--input data=cat.png --mean 1,2", 2, "--mean has 2 numbers for 3 channels (RGB)"),
        ("--input data=cat.png --std 1,2,3 --channels gray", 2, "--std has 3 numbers for 1 channel (gray)"),
        ("--input data=cat.png --std 0", 2, "a standard deviation of 0 divides by 0"),
        ("--input data=cat.png --mean nan", 2, "'nan' is no number"),
        ("--input data=cat.png --resize 0", 2, "'0' is no size"),
        ("--input data=cat.png --scale 0", 2, "--scale takes a number"),
    ],
)
def test_mistakes(words: str, code: int, message: str) -> None:
    Path("net.relay").write_text(NET.format("1, 3, 4, 4", "float32"))
    Path("cut.png").write_bytes(Path("cat.png").read_bytes()[:100])
    Image.fromarray(PIXELS[:, :, 0].astype("uint16") * 200).save("deep.png")
    got, out, err = irtool("run", "net.relay", *words.split())
    assert (got, out) == (code, "") and message in err, err


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("net.relay").write_text(NET.format("1, 3, 6, 9", "float32"))
    usual = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name == "PIL":
            raise ModuleNotFoundError("No module named 'PIL'", name="PIL")
        return usual(name, *rest, **more)  # type: ignore[arg-type]  # what import takes

    monkeypatch.setattr(builtins, "__import__", without)
    code, _, err = irtool("run", "net.relay", "--input", "data=cat.png")
    assert code == 2 and "needs the package Pillow" in err and "pip install 'pillow>=10'" in err


def test_other_commands_say_who_reads_images() -> None:
    Path("net.relay").write_text(NET.format("1, 3, 6, 9", "float32"))
    code, _, err = irtool("opt", "net.relay", "--input", "data=cat.png")
    assert code == 1 and "this is an image, which `irtool run` reads" in err
