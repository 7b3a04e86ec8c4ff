"""A small shop with plain answers: everybody who takes bread goes on to butter, then jam."""

import json
from pathlib import Path

from offline.config import BuildConfig
from offline.dataset import Inputs

ITEMS = [
    {"item_id": "bread", "title": "Wheat bread", "brand": " Mill ", "price": 2.5, "categories": [["Food", "Bakery"]]},
    {"item_id": "butter", "title": "Salted butter", "brand": "Dairy", "price": 3, "categories": "Food > Dairy"},
    {"item_id": "jam", "title": "Strawberry jam", "brand": "Mill", "categories": [["Food", "Spreads"], ["Sale"]]},
    {"item_id": "tea", "title": "Green tea", "price": 4.0, "rating_avg": 5.0, "rating_count": 40},
    {"item_id": "soap", "available": False, "rating_avg": 1.0, "rating_count": 40},
]
SEQUENCES = {
    "ann": ["bread", "butter", "jam", "tea", "butter"],
    "bob": ["bread", "butter", "jam", "tea"],
    "cid": ["tea", "bread", "butter", "jam"],
    "dan": ["soap", "bread"],
}


def inputs(folder: Path, name: str = "interactions.csv") -> Inputs:
    """The shop's two files."""
    lines = ["user_id,item_id,timestamp,rating"]
    for user, items in SEQUENCES.items():
        lines += [f"{user},{item},{100 + place},{1 + place % 5}" for place, item in enumerate(items)]
    (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    return Inputs((folder / name,), folder / "items.jsonl")


def config(**changes: object) -> BuildConfig:
    """Ratings on 1..5."""
    return BuildConfig.model_validate({"ratings": {"low": 1, "high": 5}, **changes})
