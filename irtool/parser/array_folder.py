"""Folders of `.npy` files, one for each tensor: `layer1.weight.npy`.

What a file name cannot have (`/`, `%` and the like) is written as in web addresses: `conv%2F0.npy`. bfloat16 is written as two opaque
bytes, as numpy does it.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from ..diagnostics import IrError
from .arrays import read_npy

if TYPE_CHECKING:
    import numpy as np

_ENDING = ".npy"


def read_folder(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of the `.npy` files in a folder, sorted by name. Raises IrError if it has none or one is damaged, OSError for an
    unreadable one."""
    names = sorted(n for n in os.listdir(path) if n.endswith(_ENDING))
    if not names:
        raise IrError("there is no .npy file in the folder", filename=os.fspath(path))
    return {unquote(n.removesuffix(_ENDING)): read_npy(os.path.join(path, n)) for n in names}


def write_folder(path: str | os.PathLike[str], params: Mapping[str, np.ndarray]) -> None:
    """Writes a folder of `.npy` files, which appears only when it is whole. Raises OSError, also if there is one that is not
    empty."""
    import numpy as np

    target = os.path.abspath(path)
    if os.path.isdir(target) and os.listdir(target):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), target)
    unfinished = tempfile.mkdtemp(prefix=".irtool-", dir=os.path.dirname(target))
    try:
        for name, array in params.items():
            file = quote(name, safe=" +,=@[]()").replace("~", "%7E")
            with open(os.path.join(unfinished, ("%2E" + file[1:] if file[0] == "." else file) + _ENDING), "wb") as out:
                np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(unfinished, 0o777 & ~mask)
        os.replace(unfinished, target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
