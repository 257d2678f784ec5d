"""The commands: ``paper`` computes the paper's tables, ``check`` confirms a certificate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

__all__ = ["app"]

app = typer.Typer(
    help="Exact, proved explanations of what tree ensembles and Bayesian classifiers decide.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from polyflip import __version__

        typer.echo(f"polyflip {__version__}")
        raise typer.Exit


@app.callback()
def polyflip(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Exact, proved explanations of what tree ensembles and Bayesian classifiers decide."""


@app.command()
def paper(
    table: Annotated[int | None, typer.Option(min=1, max=6, help="One table only.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    lsat: Annotated[Path | None, typer.Option(help="The LSAT data, bar_pass_prediction.csv.")] = None,
    download: Annotated[bool, typer.Option("--download", help="Download the LSAT data (checked).")] = False,
) -> None:
    """Compute tables 1 to 6 of the paper next to what the paper prints."""
    from polyflip.paper import compare_table
    from polyflip.paper.render import render

    studies = [compare_table(number, lsat, download) for number in ([table] if table else range(1, 7))]
    if as_json:
        typer.echo(json.dumps([study.to_dict() for study in studies], indent=2))
        return
    console = Console()
    render(studies, console if console.is_terminal else Console(width=200))


@app.command()
def check(
    certificate: Annotated[
        Path, typer.Argument(help="The certificate, as answer.certificate.save() left it.")
    ],
    model: Annotated[Path, typer.Argument(help="The model: a .skops file, or with --trust a pickle.")],
    data: Annotated[
        Path | None, typer.Option(help="The training data as CSV: prices are then worked out anew.")
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a pickle, which runs whatever code it holds.")
    ] = False,
) -> None:
    """Confirm a certificate with the model alone; what is not confirmed is refused with the reason."""
    from polyflip.answers import Certificate
    from polyflip.certify import check as confirm
    from polyflip.frames import read_csv
    from polyflip.readers import load_model

    read = Certificate.load(certificate)
    table = None if data is None else read_csv(data, read.columns)
    typer.echo(str(confirm(read, load_model(model, trust), table)))
