"""The comparison with the paper as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyflip.paper.compare import Comparison, Study, agreement

__all__ = ["render"]


def render(studies: Sequence[Study], console: Console) -> None:
    """Print each table: the factual, what the paper prints, what is computed, and a mark per cell."""
    for study in studies:
        console.print()
        console.print(Text(study.title, style="bold"))
        if study.missing:
            console.print(f"  not computed: {study.missing}")
        for factual, rows in zip(study.factuals, study.rows, strict=True):
            _instance(factual, rows, console)
    alike, of_rows, cells, of_cells = agreement(studies)
    console.print()
    console.print(f"{alike} of {of_rows} printed rows and {cells} of {of_cells} printed cells agree.")


def _instance(factual: dict[str, str], rows: Sequence[Comparison], console: Console) -> None:
    columns = rows[0].columns
    table = Table(show_lines=False, pad_edge=False)
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="center", overflow="fold")
    table.add_column("outcome", justify="center")
    table.add_row("Factual", *(factual[column] for column in columns), factual["outcome"])
    for row in rows:
        table.add_section()
        printed = row.name != "Least sufficient set"
        if printed:
            table.add_row(f"{row.name}: paper", *row.printed, "")
        cells = [_cell(text, agree) for text, agree in zip(row.computed, row.agree, strict=True)]
        mark = Text("agrees", style="green") if row.agrees else Text("differs", style="red")
        name = f"{' ' * len(row.name)}  polyflip" if printed else row.name
        table.add_row(name, *cells, mark if printed else "")
    console.print(table)
    for row in rows:
        console.print(Text(f"  {row.name}: {row.proof}", style="dim"))
        if row.reason:
            console.print(Text(f"    {row.reason}"))


def _cell(text: str, agree: bool) -> Text:
    return Text(text) if agree else Text(f"{text or '-'} *", style="red")
