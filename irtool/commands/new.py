"""`irtool new`: a package to begin with."""

from __future__ import annotations

import click

from . import param_types
from .wrong_usage import Command


@click.command(
    name="new",
    cls=Command,
    short_help="Write a plug-in package to begin with: a pass, an operator or a backend, with tests.",
)
@click.argument("kind", type=click.Choice(["pass", "operator", "backend"]))
@click.argument("name")
@click.option(
    "-o", "--output", "folder", type=param_types.FOLDER, metavar="DIR", default=None,
    help="The folder to make. Default: my-pass for MyPass.",
)  # fmt: skip
def command(kind: str, name: str, folder: str | None) -> None:
    """Write a package with a pass, an operator or a backend: a class NAME, golden files, tests for pytest, and the pyproject.toml by
    which irtool finds it once the package is installed.

    \b
    Examples:
      irtool new pass MyPass                  writes my-pass/
      irtool new pass MyPass -o passes/mine   writes passes/mine/
      irtool new operator HardSwish           writes hard-swish/, with an operator hard_swish
      irtool new backend MyDevice             writes my-device/, with a backend my_device
      cd my-pass && pip install -e '.[test]' && pytest

    NAME is in CamelCase, and nothing of its kind has it yet. Nothing is written into a folder that exists.
    """
    from .templates.package import write_package

    package = write_package(kind, name, folder)
    click.echo(f"wrote {package.folder}:")
    for path in package.files:
        click.echo(f"  {path}")
    click.echo(f"next: cd {package.folder} && pip install -e '.[test]' && pytest")
