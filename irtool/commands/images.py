"""Images as inputs: `--input data=cat.png` and the options that say how pixels become an array.

Nothing is done that no option asks for: without `--resize` and `--crop` an image keeps its size, and a note says what was
done. The rules of `--resize` and `--crop` are those of torchvision's transforms `Resize` and `CenterCrop` on images of Pillow.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ..extras import install_line
from .grouped import grouped
from .mistakes import ClashingOptions, UnreadableFile

if TYPE_CHECKING:
    import numpy as np

OPTIONS = "--resize, --crop, --layout and --channels say how an image becomes an array"
"""Where one does not fit."""
LAYOUTS = ("NCHW", "NHWC", "CHW", "HWC")
_CHANNELS = {"RGB": "RGB", "BGR": "RGB", "gray": "L"}
"""The orders of channels, and the mode of Pillow that has their values."""
_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"P5", b"P6")
_EIGHT_BITS = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV", "La", "RGBa")
"""Modes of Pillow whose values have at most 8 bits."""
_HEAD = 16
Size = tuple[int, ...]


@dataclass(frozen=True)
class ImageRule:
    """The conversion of an image's pixels to an array: (pixel / scale - mean) / std.

    Attributes:
        mean, std: one number for all channels, or one for each, in the order of `channels`.
        scale: the divisor of pixels, 0 to 255.
        resize: height and width, or the length of the shorter side; empty: as it is.
        crop: height and width of the centre crop; empty: the whole image.
    """

    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    scale: float = 255.0
    layout: str = "NCHW"
    channels: str = "RGB"
    resize: Size = ()
    crop: Size = ()

    def check(self, files: Mapping[str, str]) -> None:
        """Raises UsageError for one of these options without an image among `files`, and for a mean of other channels."""
        from ..diagnostics import UsageError

        count = 1 if self.channels == "gray" else 3
        for name, numbers in (("mean", self.mean), ("std", self.std)):
            if len(numbers) not in (0, 1, count):
                several = f"{count} channels ({self.channels})" if count > 1 else "1 channel (gray)"
                raise UsageError(f"--{name} has {len(numbers)} numbers for {several}", code=ClashingOptions)
        context = click.get_current_context()
        for name in ("mean", "std", "scale", "layout", "channels", "resize", "crop"):
            is_given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
            if is_given and not any(is_image(f) or not os.path.isfile(f) for f in files.values()):
                raise UsageError(
                    f"--{name} is for images, and no --input names one",
                    help="--input NAME=FILE.png reads PNG, JPEG, WebP, BMP, TIFF or GIF",
                    code=ClashingOptions,
                )

    def read(self, path: str, name: str) -> np.ndarray:
        """The array of an image, for the parameter of that name; a note lists the steps of its conversion.

        It is uint8 where neither scale, mean nor std changes a value, else float32. Raises IrError for a file that is no whole
        image with 8 bits a channel, or is smaller than what is to be cut out; UsageError where Pillow is missing.
        """
        import numpy as np

        from .notes import say

        done: list[str] = []
        picture = self._shaped(_opened(path, done), path, done)
        picture = picture.convert(_CHANNELS[self.channels])
        pixels = np.asarray(picture).reshape(picture.height, picture.width, -1)
        done.append(self.channels)
        if self.channels == "BGR":
            pixels = pixels[:, :, ::-1]
        array = self._scaled(pixels, done)
        if "CHW" in self.layout:
            array = array.transpose(2, 0, 1)
        if self.layout.startswith("N"):
            array = array[np.newaxis]
        array = np.ascontiguousarray(array)
        say(f"%{name} is {path}: {', '.join(done)}; {self.layout}, {array.dtype}{list(array.shape)}")
        return array

    def _shaped(self, picture: Any, path: str, done: list[str]) -> Any:
        """The picture after `--resize` and `--crop`."""
        from PIL import Image

        from ..diagnostics import IrError

        if self.resize:
            size = _resized(self.resize, picture.width, picture.height)
            if picture.mode in ("1", "P", "PA"):  # values of these are no brightness
                picture = picture.convert("RGBA" if "transparency" in picture.info or picture.mode == "PA" else "RGB")
            picture = picture.resize(size, Image.Resampling.BILINEAR)
            done.append(f"resized to {_size(picture)} (bilinear)")
        if self.crop:
            height, width = self.crop if len(self.crop) == 2 else self.crop * 2
            if height > picture.height or width > picture.width:
                raise IrError(
                    f"the image has {_size(picture)} pixels, and --crop asks for {height}x{width}",
                    filename=path,
                    help=f"--resize={max(height, width)} makes its shorter side as long as that",
                )
            top, left = round((picture.height - height) / 2), round((picture.width - width) / 2)
            picture = picture.crop((left, top, left + width, top + height))
            done.append(f"cut to {_size(picture)} at the centre")
        return picture

    def _scaled(self, pixels: np.ndarray, done: list[str]) -> np.ndarray:
        import numpy as np

        if self.scale == 1 and not self.mean and not self.std:
            done.append("pixels from 0 to 255")
            return pixels
        term = "pixel" if self.scale == 1 else f"pixel / {self.scale:g}"
        array: np.ndarray = pixels.astype(np.float32) / np.float32(self.scale)
        if self.mean:
            array = array - np.array(self.mean, np.float32)
            term = f"({term} - {_listed(self.mean)})" if self.std else f"{term} - {_listed(self.mean)}"
        if self.std:
            array = array / np.array(self.std, np.float32)
            term = f"{term} / {_listed(self.std)}"
        done.append(term)
        return array


def is_image(path: str) -> bool:
    """True if a file begins as images do. False for one that cannot be read."""
    from ..files import open_file

    try:
        with open_file(path) as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return False
    return head.startswith(_STARTS) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _opened(path: str, done: list[str]) -> Any:
    """The picture upright; `done` gets its description. Raises as `ImageRule.read` does."""
    from ..diagnostics import IrError, UsageError

    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise UsageError(
            f"{path} is an image: reading it needs the package Pillow",
            help=install_line("images"),
            code=ClashingOptions,
        ) from None
    try:
        with Image.open(path) as file:
            file.load()
            frames = getattr(file, "n_frames", 1)
            picture = ImageOps.exif_transpose(file)
            is_turned = picture.size != file.size or file.getexif().get(_ORIENTATION, 1) != 1
    except (OSError, ValueError, SyntaxError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise IrError(f"the image cannot be read: {error}", filename=path, code=UnreadableFile) from None
    if picture.mode not in _EIGHT_BITS:
        raise IrError(
            f"the image has values of more than 8 bits (mode {picture.mode})",
            filename=path,
            help="save it with 8 bits a channel, or give an array: --input NAME=FILE.npy",
        )
    done.append(f"{_size(picture)} pixels")
    if frames > 1:
        done.append(f"the first of {frames} frames")
    if is_turned:
        done.append("turned upright")
    if picture.mode in ("LA", "RGBA", "PA", "La", "RGBa") or "transparency" in picture.info:
        done.append("transparency ignored")
    return picture


_ORIENTATION = 0x0112
"""The Exif tag that says how a camera was held."""


def _resized(size: Size, width: int, height: int) -> tuple[int, int]:
    """Width and height of the resized picture."""
    if len(size) == 2:
        return size[1], size[0]
    (side,) = size
    if width <= height:
        return side, side * height // width
    return side * width // height, side


def _size(picture: Any) -> str:
    return f"{picture.height}x{picture.width}"


def _listed(numbers: tuple[float, ...]) -> str:
    text = ", ".join(f"{n:g}" for n in numbers)
    return f"[{text}]" if len(numbers) > 1 else text


def _numbers(ctx: click.Context, option: click.Parameter, value: str | None) -> tuple[float, ...]:
    if value is None:
        return ()
    import math

    try:
        result = tuple(float(word) for word in value.split(","))
    except ValueError:
        result = ()
    if not result or not all(map(math.isfinite, result)):
        raise click.BadParameter(f"{value!r} is no number, and no list such as 0.485,0.456,0.406", ctx, option)
    if option.name == "std" and 0 in result:
        raise click.BadParameter("a standard deviation of 0 divides by 0", ctx, option)
    return result


def _sizes(ctx: click.Context, option: click.Parameter, value: str | None) -> Size:
    if value is None:
        return ()
    match = re.fullmatch(r"([1-9]\d{0,4})(?:x([1-9]\d{0,4}))?", value.strip())
    if match is None:
        raise click.BadParameter(f"{value!r} is no size such as 256 or 224x320, height first", ctx, option)
    return tuple(int(n) for n in match.groups() if n)


image_options = grouped(
    "image",
    ImageRule,
    click.option(
        "--mean",
        callback=_numbers,
        metavar="R,G,B",
        help="Mean of the values of an image's channels, after --scale. One number is for all channels.",
    ),
    click.option(
        "--std", callback=_numbers, metavar="R,G,B", help="Standard deviation, which the difference is divided by."
    ),
    click.option(
        "--scale",
        type=click.FloatRange(0, min_open=True),
        default=255.0,
        show_default=True,
        help="What an image's pixels, 0 to 255, are divided by; 1 keeps them.",
    ),
    click.option(
        "--layout", type=click.Choice(LAYOUTS), default="NCHW", show_default=True, help="Axes of an image's array."
    ),
    click.option(
        "--channels",
        type=click.Choice(list(_CHANNELS)),
        default="RGB",
        show_default=True,
        help="Order of an image's channels.",
    ),
    click.option(
        "--resize",
        callback=_sizes,
        metavar="256|224x320",
        help="Resize an image: its shorter side, or height and width. Else it keeps its size.",
    ),
    click.option(
        "--crop", callback=_sizes, metavar="224|224x320", help="Cut so many rows and columns out of an image's centre."
    ),
)
"""The options about images, as one `ImageRule`, `image`."""
