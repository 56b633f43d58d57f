"""Print the rows of the checklist with their tests."""

import click

from .rows import table

click.echo(table())
