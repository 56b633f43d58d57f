"""Releases, for maintainers.

    make release VERSION=0.2.0   commits and tags the version and builds it into dist/; pushes nothing
    make dist COMMIT=v0.2.0      builds a commit into dist/, and compares it with the sums in its tag

Each builds twice and compares. If a check fails, nothing has changed.
"""

from pathlib import Path

import click

from .making import make, rebuild, sums
from .repository import BRANCH, Repository

ROOT = Path(__file__).parents[2]


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command
@click.argument("text", metavar="VERSION=0.2.0")
def release(text: str) -> None:
    """Commit, build and tag a version."""
    version, files = make(Repository(ROOT), text)
    click.echo(
        f"{version} is committed, tagged, and built into dist/. Nothing was pushed.\n\n{sums(files)}\n"
        f"Look at it:    git show v{version}\n"
        f"Publish it:    git push --atomic origin {BRANCH} v{version}\n"
        f"Take it back:  git tag --delete v{version}; git reset --keep HEAD~2"
    )


@main.command
@click.argument("revision", metavar="COMMIT=v0.2.0")
def dist(revision: str) -> None:
    """Build the wheel and the source archive of a commit."""
    click.echo(sums(rebuild(Repository(ROOT), revision)), nl=False)


if __name__ == "__main__":
    main(prog_name="make")
