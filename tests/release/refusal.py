"""The refusal of a release."""

import click


class ReleaseRefused(click.ClickException):
    """Raised when a release can't be made. Nothing in the repository was changed."""
