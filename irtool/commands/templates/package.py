"""Writing a package from a template: whole, or not at all."""

from __future__ import annotations

import importlib.util
import keyword
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from string import Template

from ...diagnostics import IrError
from ..mistakes import BadValue, UnwritableFile
from ..wrong_usage import WrongUsage

_ENDING = ".template"

_LISTINGS = {"operator": "irtool ops", "backend": "irtool backends"}
"""Commands that describe what there is of a kind; these are called as their modules are."""


@dataclass(frozen=True)
class Package:
    """The written package: the folder, and the files in it by their paths there."""

    folder: str
    files: tuple[str, ...]


def write_package(kind: str, name: str, folder: str | None) -> Package:
    """Writes the template of that kind with `name` in it into a folder that must not exist.

    Raises WrongUsage for a name that cannot be used, IrError for a folder that exists or cannot be made.
    """
    substitutions = names_of(kind, name)
    target = folder or substitutions["distribution"]
    if os.path.lexists(target):
        raise IrError(f"{target} exists; name another folder with -o", code=UnwritableFile)
    files = {
        Template(path).substitute(substitutions): Template(text).substitute(substitutions)
        for path, text in _read(kind).items()
    }
    parent = os.path.dirname(os.path.abspath(target))
    try:
        os.makedirs(parent, exist_ok=True)
        draft = tempfile.mkdtemp(prefix=".irtool-new-", dir=parent)
        try:
            _write(draft, files)
            os.rename(draft, target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise IrError(f"cannot write {target}: {error.strerror or error}", code=UnwritableFile) from None
    return Package(target, tuple(sorted(files)))


def names_of(kind: str, name: str) -> dict[str, str]:
    """The names in a template: the class, its module, its distribution. Raises WrongUsage for a name that cannot be used."""
    if re.fullmatch(r"[A-Z][A-Za-z0-9]*", name) is None:
        hint = "".join(part[:1].upper() + part[1:] for part in re.findall(r"[A-Za-z0-9]+", name)).lstrip("0123456789")
        hint = f"did you mean {hint}?" if hint[:1].isupper() and hint.isascii() else ""
        raise WrongUsage(f"{name!r} is not a name like MyPass: letters and digits, a capital first", BadValue, hint)
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    if problem := _taken(kind, name, module):
        raise WrongUsage(problem, BadValue)
    return {"name": name, "module": module, "distribution": module.replace("_", "-")}


def _taken(kind: str, name: str, module: str) -> str:
    """Why the name cannot be taken; empty if it can."""
    from ...plugin.listing import listed

    if keyword.iskeyword(name) or keyword.iskeyword(module):
        return f"the name {name} is a word of Python"
    if kind == "pass" and any(name in listed(what) for what in ("pass", "pipeline", "instrument")):
        return f"there is a pass {name} already; irtool passes {name} describes it"
    if kind in _LISTINGS and module in listed(kind):
        article = "an" if kind[0] in "aeiou" else "a"
        return f"there is {article} {kind} {module} already; {_LISTINGS[kind]} {module} describes it"
    if module in sys.stdlib_module_names or importlib.util.find_spec(module) is not None:
        return f"the {kind} {name} would be in a module {module}, and there is one already"
    return ""


def _read(kind: str) -> dict[str, str]:
    """The files of a template, by their paths in it."""
    home = os.path.join(os.path.dirname(__file__), kind)
    result = {}
    for folder, _, files in os.walk(home):
        for file in files:
            if file.endswith(_ENDING):
                path = os.path.join(folder, file)
                with open(path, encoding="utf-8") as source:
                    result[os.path.relpath(path, home).removesuffix(_ENDING)] = source.read()
    return result


def _write(folder: str, files: dict[str, str]) -> None:
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(folder, 0o777 & ~mask)
    for path, text in files.items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as out:
            out.write(text)
