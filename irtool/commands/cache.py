"""`irtool cache`: lists the builds that `build` keeps, and removes them."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .wrong_usage import Command

if TYPE_CHECKING:
    from ..driver.cache import CachedBuild

_DAY = 24 * 3600


@click.command(name="cache", cls=Command, short_help="List the builds that are kept, or remove them.")
@click.argument("action", type=click.Choice(["list", "clear"]), default="list")
@click.option(
    "--older-than",
    type=click.FloatRange(0),
    default=0.0,
    metavar="DAYS",
    help="Take the builds alone that nothing has used for so many days. Default: all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(action: str, older_than: float, as_json: bool) -> None:
    """List the builds that `irtool build` and `irtool run` keep, or remove them with `clear`.

    The same build again is taken from there. Beside them are object files, which builds of equal kernels share: other weights
    compile no kernel. `clear` removes these, and temporary folders of killed processes as well, if they are older than a day. XDG_CACHE_HOME names the folder, IRTOOL_CACHE_LIMIT its largest size in bytes; `--no-cache` keeps nothing.

    \b
    Examples:
      irtool cache
      irtool cache clear --older-than 30
    """
    from ..driver.cache import BuildCache
    from ..driver.temporary_folders import remove_abandoned_folders
    from ..viz.short_text import brief_size

    cache = BuildCache()
    since = time.time() - older_than * _DAY
    folders = 0
    if action == "clear":
        builds = cache.remove_unused(since)
        folders = remove_abandoned_folders()
    else:
        builds = [b for b in cache.builds() if b.used <= since]
    total = sum(b.nbytes for b in builds)
    if as_json:
        import json

        record = [{"key": b.folder.name, "bytes": b.nbytes, "used": b.used, "files": b.files} for b in builds]
        click.echo(json.dumps({"folder": str(cache.root), "bytes": total, "builds": record}, indent=1))
        return
    if action == "clear":
        folder_note = f", {folders} temporary folder{'s' if folders != 1 else ''}" if folders else ""
        click.echo(f"removed {count_builds(builds)} ({brief_size(total)}){folder_note}")
        return
    if builds:
        from .tables import show_table

        rows = [("used", "size", "key", "files")]
        for b in reversed(builds):
            used = time.strftime("%Y-%m-%d %H:%M", time.localtime(b.used))
            rows.append((used, brief_size(b.nbytes), b.folder.name[:12], " ".join(b.files)))
        widths = [max(len(r[i]) for r in rows) for i in range(3)]
        click.echo(show_table(rows, widths, stream=sys.stdout))
    click.echo(describe_builds(cache.root, builds))


def count_builds(builds: Sequence[CachedBuild]) -> str:
    """The number of builds, in words: `2 builds`."""
    return "1 build" if len(builds) == 1 else f"{len(builds)} builds"


def describe_builds(root: Path, builds: Sequence[CachedBuild]) -> str:
    """The folder of the cache with the number and the size of builds in it."""
    from ..viz.short_text import brief_size

    return (
        f"{root}: {count_builds(builds)}, {brief_size(sum(b.nbytes for b in builds))}" if builds else f"{root}: empty"
    )
