"""The command line.

Why this room exists: it is an extra.  This door opens without it and says what to install;
``app`` holds the commands.
"""

from __future__ import annotations

import sys

from polyflip.errors import MissingDependencyError, PolyflipError

__all__ = ["main"]


def main() -> None:
    """Run the command line; an error of the user's is one line, not a traceback."""
    try:
        from polyflip.cli.app import app
    except ImportError as error:
        package = str(error.name).partition(".")[0]
        if package not in ("typer", "rich"):
            raise
        sys.exit(str(MissingDependencyError(package, "cli", "the command line")))
    try:
        app()
    except PolyflipError as error:
        sys.exit(f"polyflip: {error}")
