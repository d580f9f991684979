"""The build cache: files of earlier builds, keyed by the content of everything they were made from.

It is in `$XDG_CACHE_HOME/irtool/builds` (by default `~/.cache`), a folder of the user's own that nobody else may write to.
Each build is a folder named by its key. A folder appears whole, by one rename, so that any number of processes may read
and write at once; what is read, the description of the build as well, is checked against its digest, and anything odd
counts as not being there and is replaced. Files are copied out of it, by the file system's own means where it has some
(copies that share their blocks until one is written to); hard links would let a later write to an output reach the cache, and
every other output of that build. The oldest
builds go when all of them are larger than `IRTOOL_CACHE_LIMIT` bytes (default: 4 GiB).

Beside it are a folder of object files, which builds of equal kernels share, and one of texts: digests of large files, and the builds
that `irtool run` made of models, so that the same run again reads neither.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..files import open_file
from .cache_folder import CachedTexts, cache_folder, file_digest, is_own_folder
from .entries import describe_entry, read_entry
from .outputs import Content, Emission, Made, chunks
from .temporary_folders import is_abandoned

_LIMIT = 4 << 30
_FORMAT = 3
_DESCRIPTION = "build.json"
_UNFINISHED = "unfinished-"
_OBJECTS = "objects"


class Key:
    """Collects everything a build depends on; `digest` names it. Each content is stored with its length, so that two cannot run together."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(f"irtool build {_FORMAT}".encode())

    def add(self, *contents: str | bytes | memoryview) -> None:
        """Adds contents."""
        for p in contents:
            data = p.encode("utf-8", "surrogatepass") if isinstance(p, str) else p
            self._hash.update(len(data).to_bytes(8, "little"))
            self._hash.update(data)

    def add_arrays(self, arrays: Mapping[str, Any]) -> None:
        """Adds named arrays."""
        import numpy as np

        for name, value in arrays.items():
            array = np.ascontiguousarray(value)
            self.add(name, str(array.dtype), repr(np.shape(value)), array.reshape(-1).view("uint8").data)

    @property
    def digest(self) -> str:
        """A name of 64 letters and digits."""
        return self._hash.hexdigest()


def program_identity() -> str:
    """The identity of this irtool: the names, sizes and times of its files."""
    stamps: list[tuple[str, int, int]] = []
    folders = [("", os.fspath(Path(__file__).parent.parent))]
    while folders:
        prefix, folder = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                name = f"{prefix}{entry.name}"
                if not entry.is_dir(follow_symlinks=False):
                    about = entry.stat()
                    stamps.append((name, about.st_size, about.st_mtime_ns))
                elif entry.name != "__pycache__":
                    folders.append((f"{name}/", entry.path))
    return repr(sorted(stamps))


def add_module(key: Key, module: Any) -> None:
    """Adds a module to a key: its text, its constants, and the source locations that generated code mentions."""
    from ..infer.lengths import symbols_of_type
    from ..ir import Call, Constant, Function, MissingData, post_order
    from ..ir.attributes import constants, formulas
    from ..ir.tensor_names import INPUT_SHAPES
    from ..printer import to_text
    from ..tir.stmt import AllocateConst, PrimFunc, pre_order

    key.add(to_text(module, types="none", constants="elide"))
    for f in module.functions.values():
        for e in post_order(f) if isinstance(f, Function) else ():
            values = constants(e.attrs.values()) if isinstance(e, Function) else [e] if isinstance(e, Constant) else []
            for c in values:
                if not isinstance(c.data, MissingData):
                    key.add_arrays({c.dtype: c.data})
        for s in pre_order(f.body) if isinstance(f, PrimFunc) else ():
            if isinstance(s, AllocateConst):
                key.add_arrays({s.buffer.dtype: s.data})
    lengths = {s for f in module.relay_functions.values() for p in f.params for s in symbols_of_type(p.type_annotation)}
    lengths |= {
        s for f in module.relay_functions.values() for d in formulas(f.attrs.get(INPUT_SHAPES)) for s in d.symbols()
    }
    key.add(*(s.bounds for s in sorted(lengths, key=lambda s: s.name)))
    spans = [e.span for f in module.relay_functions.values() for e in post_order(f.body) if isinstance(e, Call)]
    key.add(repr([s and (os.path.basename(s.source.name), *s.source.position(s.start)) for s in spans]))


def add_calibration(key: Key, calibration: Any) -> None:
    """Adds calibration data to a key: a word, arrays by name, or several such; None adds nothing."""
    if calibration is None:
        return
    key.add("calibration")
    if isinstance(calibration, str):
        key.add(calibration)
        return
    for arrays in [calibration] if isinstance(calibration, Mapping) else calibration:
        key.add("sample")
        key.add_arrays(arrays)


@dataclass(frozen=True)
class CachedBuild:
    """A build in the cache.

    Attributes:
        folder: named by the key.
        nbytes: the size of its files.
        used: when it was stored or last taken, in seconds since 1970.
        files: their names, in order.
    """

    folder: Path
    nbytes: int
    used: float
    files: tuple[str, ...]


class BuildCache:
    """Builds in a folder. With an unusable folder every method does nothing, silently."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root if root is not None else cache_folder() / "builds"

    def load(self, key: str, resources: ExitStack) -> Emission | None:
        """The build of that key, its files open (until `resources` closes them) and checked; None if the cache has none.

        A damaged build, or any other file in its place, is removed, so that the next build is kept.
        """
        folder = self.root / key
        if not self._is_safe() or not os.path.lexists(folder):
            return None
        try:
            about = _read_description(folder / _DESCRIPTION)
            files: dict[str, BinaryIO] = {}
            digests: dict[str, str] = {}
            for name, digest in about["files"].items():
                if os.path.basename(name) != name:
                    raise ValueError("names of files")
                file = resources.enter_context(open_file(folder / "files" / name))
                if file_digest(file) != digest:
                    raise ValueError("contents")
                file.seek(0)
                files[name] = file
                digests[name] = digest
            emission = Emission(dict(files), {n: read_entry(e) for n, e in about["entries"].items()}, about["report"])
            emission.library, emission.weights, emission.program = about["library"], about["weights"], about["program"]
            emission.cached, emission.digests, emission.folder = True, digests, folder / "files"
            if not {emission.library, emission.weights, emission.program} <= {*files, ""}:
                raise ValueError("names of files")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._remove(folder)
            return None
        with contextlib.suppress(OSError):
            os.utime(folder)
        return emission

    def _remove(self, entry: Path) -> None:
        """Removes a damaged build. One rename makes it vanish for other processes at once."""
        try:
            aside = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.root))
            os.rename(entry, aside / "damaged")
        except OSError:
            return
        shutil.rmtree(aside, ignore_errors=True)

    def store(self, key: str, emission: Emission) -> None:
        """Stores a build, unless the cache has one of that key, or it has folders: those of libraries in other layouts."""
        if any(os.path.basename(name) != name for name in emission.files):
            return
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._is_safe():
                return
            unfinished = tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.root)
        except OSError:
            return
        try:
            folder = Path(unfinished)
            (folder / "files").mkdir()
            digests = {
                name: _fill(folder / "files" / name, content, emission.digests.get(name, ""))
                for name, content in emission.files.items()
            }
            about = {
                "files": digests,
                "entries": {n: describe_entry(f) for n, f in emission.entries.items()},
                "report": emission.report,
                "library": emission.library,
                "weights": emission.weights,
                "program": emission.program,
            }
            emission.digests = digests
            _write_description(folder / _DESCRIPTION, about)
            os.rename(folder, self.root / key)
        except OSError:
            shutil.rmtree(unfinished, ignore_errors=True)  # it is there already, or the disk is full
        else:
            emission.folder = self.root / key / "files"
            self._shrink(key)

    def objects(self) -> Path | None:
        """The folder of object files that builds share; None if it cannot be used."""
        with contextlib.suppress(OSError):
            self._objects.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._objects if self._is_safe(self._objects) else None

    @property
    def _objects(self) -> Path:
        return self.root.parent / _OBJECTS

    def _is_safe(self, folder: Path | None = None) -> bool:
        """True if the user owns the folder of builds, or another one, and nobody else may write to it."""
        return is_own_folder(folder or self.root)

    def builds(self) -> list[CachedBuild]:
        """The builds, those unused for the longest time first."""
        result = []
        with contextlib.suppress(OSError):  # there is no cache yet
            for folder in self.root.iterdir():
                with contextlib.suppress(OSError):  # another process removes it
                    sizes = {f.name: f.stat().st_size for f in (folder / "files").iterdir()}
                    if not folder.name.startswith(_UNFINISHED):
                        used = folder.stat().st_mtime
                        result.append(CachedBuild(folder, sum(sizes.values()), used, tuple(sorted(sizes))))
        return sorted(result, key=lambda b: (b.used, b.folder))

    def remove_unused(self, since: float) -> list[CachedBuild]:
        """Removes the builds that nobody has used since then, seconds since 1970, and returns them; unfinished ones of killed
        processes, object files, and digests of files, go as well."""
        CachedTexts(self.root.parent / "texts").remove_unused(since)
        for file in sorted(self._objects.iterdir()) if self._is_safe(self._objects) else ():
            with contextlib.suppress(OSError):  # another process removes it
                if file.stat().st_mtime <= since:
                    file.unlink()
        if not self._is_safe():
            return []
        self._remove_abandoned()
        removed = [b for b in self.builds() if b.used <= since]
        for build in removed:
            shutil.rmtree(build.folder, ignore_errors=True)
        return removed

    def _remove_abandoned(self) -> None:
        """Removes unfinished builds whose processes were killed."""
        for folder in self.root.glob(f"{_UNFINISHED}*"):
            with contextlib.suppress(OSError):
                if is_abandoned(folder.stat().st_mtime):
                    shutil.rmtree(folder, ignore_errors=True)

    def _shrink(self, current: str) -> None:
        """Removes the oldest builds until the rest is small enough."""
        try:
            limit = int(os.environ.get("IRTOOL_CACHE_LIMIT", _LIMIT))
        except ValueError:
            limit = _LIMIT
        self._remove_abandoned()
        builds = self.builds()
        total = sum(b.nbytes for b in builds)
        for build in builds:
            if total <= limit:
                break
            if build.folder.name != current:
                shutil.rmtree(build.folder, ignore_errors=True)
                total -= build.nbytes


def _write_description(path: Path, about: Mapping[str, Any]) -> None:
    """Writes the description of a build, preceded by its digest."""
    text = json.dumps(about).encode()
    path.write_bytes(b'{"sha256": "%s", "build": %s}' % (hashlib.sha256(text).hexdigest().encode(), text))


def _read_description(path: Path) -> dict[str, Any]:
    """The description that `_write_description` wrote. Raises OSError or ValueError for anything else."""
    with open_file(path) as file:
        whole = file.read()
    head, behind, text = whole.partition(b', "build": ')
    if not behind or head != b'{"sha256": "%s"' % hashlib.sha256(text[:-1]).hexdigest().encode():
        raise ValueError("contents")
    return json.loads(text[:-1])


def _fill(target: Path, content: Content, known: str) -> str:
    """Writes a file and returns its digest, which may be known."""
    if known and isinstance(content, Made):
        shutil.copyfile(content.path, target)
        return known
    digest = hashlib.sha256()
    with open(target, "wb") as out:
        for part in chunks(content):
            digest.update(part)
            out.write(part)
    return digest.hexdigest()
