"""H&M Personalized Fashion Recommendations (Kaggle): `transactions_train.csv` and `articles.csv`.

Purchases with a date; those of one day keep the order of the file. The heuristic paper collapses an article that
follows itself and keeps sequences of three and more; no core. Article ids have leading zeros, which are kept. The
price in the transactions is scaled by the publisher and in no currency, so the catalogue has none.
"""

from offline.datasets.delimited import csv_rows
from offline.datasets.staging import write_interactions, write_items
from offline.datasets.workspace import Workspace

TRANSACTIONS = ("t_dat", "customer_id", "article_id")
ARTICLES = (
    "article_id",
    "prod_name",
    "product_type_name",
    "product_group_name",
    "colour_group_name",
    "department_name",
    "detail_desc",
)

PATHS = "[[product_group_name, product_type_name], [colour_group_name], [department_name]]"
FILLED = f"list_transform({PATHS}, lambda path: list_filter(path, lambda name: tidy(name) is not null))"
CATEGORIES = f"list_filter({FILLED}, lambda path: len(path) > 0)"
"""Group > type (the leaf category), then colour and department as paths of one level."""


def read(work: Workspace) -> None:
    """Purchases and articles."""
    purchases = csv_rows(work, "transactions", "purchases", TRANSACTIONS)
    write_interactions(
        work,
        purchases,
        user="customer_id",
        item="article_id",
        timestamp="epoch(try_strptime(t_dat, '%Y-%m-%d'))::bigint",
    )
    articles = csv_rows(work, "articles", "articles", ARTICLES)
    text = "concat(" + ", ".join(f"tidy({column})" for column in ARTICLES[1:]) + ")"
    write_items(
        work,
        articles,
        item="article_id",
        columns={
            "title": "tidy(prod_name)",
            "categories": CATEGORIES,
            "description": "tidy(detail_desc)",
        },
        where=f"{text} <> ''",
    )
