"""Amazon's review data sets, as data: the 2014 categories of the heuristic paper and all categories of 2023."""

from offline.datasets.figures import Figures
from offline.datasets.raw import RawFile
from offline.datasets.readers import amazon_2014, amazon_2023
from offline.datasets.spec import Dataset
from offline.datasets.steps import Core, Count, DropDuplicates, EarliestPerPair, MinPerUser, Step
from offline.datasets.workspace import RatingScale

STARS = RatingScale(1, 5)

SHOP_TEXT = "Title: {title}; Brand: {brand}; Categories: {paths}"

URL_2014 = "https://snap.stanford.edu/data/amazon/productGraph/categoryFiles"
URL_2023 = "https://mcauleylab.ucsd.edu/public_datasets/data/amazon_2023"

FULL_CORE: tuple[Step, ...] = (DropDuplicates(), Core(5), MinPerUser(3))
"""S3-Rec's preprocessing; on the published `_5` files it changes nothing."""

AS_PUBLISHED: tuple[Step, ...] = (DropDuplicates(), MinPerUser(3))
"""The paper takes CDs as it is: the `_5` file is a 5-core already."""

BENCHMARK_2023: tuple[Step, ...] = (EarliestPerPair(), Core(5, Count.PARTNERS), MinPerUser(3))


def _amazon_2014(name: str, title: str, category: str, steps: tuple[Step, ...], expected: Figures) -> Dataset:
    reviews, metadata = f"reviews_{category}_5.json.gz", f"meta_{category}.json.gz"
    return Dataset(
        name=name,
        title=title,
        page="https://cseweb.ucsd.edu/~jmcauley/datasets/amazon/links.html",
        terms="Research use; cite McAuley et al. (SIGIR 2015) and He & McAuley (WWW 2016).",
        files=(
            RawFile("reviews", reviews, url=f"{URL_2014}/{reviews}"),
            RawFile("metadata", metadata, url=f"{URL_2014}/{metadata}"),
        ),
        read=amazon_2014.read,
        steps=steps,
        event="review",
        text=SHOP_TEXT,
        ratings=STARS,
        expected=expected,
    )


AMAZON_2014 = (
    _amazon_2014("beauty", "Beauty", "Beauty", FULL_CORE, Figures(22_363, 12_101, 114_582)),
    _amazon_2014("sports", "Sports", "Sports_and_Outdoors", FULL_CORE, Figures(35_598, 18_357, 180_610)),
    _amazon_2014("toys", "Toys", "Toys_and_Games", FULL_CORE, Figures(19_412, 11_924, 102_268)),
    _amazon_2014("cds", "CDs", "CDs_and_Vinyl", AS_PUBLISHED, Figures(75_258, 64_443, 810_347, 14.58)),
)
"""The paper's mean lengths of Beauty, Sports and Toys (8.15, 7.96, 7.97) are of shortened sequences: not compared."""

CATEGORIES_2023 = (
    "All_Beauty",
    "Amazon_Fashion",
    "Appliances",
    "Arts_Crafts_and_Sewing",
    "Automotive",
    "Baby_Products",
    "Beauty_and_Personal_Care",
    "Books",
    "CDs_and_Vinyl",
    "Cell_Phones_and_Accessories",
    "Clothing_Shoes_and_Jewelry",
    "Digital_Music",
    "Electronics",
    "Gift_Cards",
    "Grocery_and_Gourmet_Food",
    "Handmade_Products",
    "Health_and_Household",
    "Health_and_Personal_Care",
    "Home_and_Kitchen",
    "Industrial_and_Scientific",
    "Kindle_Store",
    "Magazine_Subscriptions",
    "Movies_and_TV",
    "Musical_Instruments",
    "Office_Products",
    "Patio_Lawn_and_Garden",
    "Pet_Supplies",
    "Software",
    "Sports_and_Outdoors",
    "Subscription_Boxes",
    "Tools_and_Home_Improvement",
    "Toys_and_Games",
    "Unknown",
    "Video_Games",
)


def _amazon_2023(category: str) -> Dataset:
    slug = category.lower().replace("_", "-")
    reviews, ratings, metadata = f"{category}.jsonl.gz", f"{category}.csv.gz", f"meta_{category}.jsonl.gz"
    return Dataset(
        name=f"amazon-2023-{slug}",
        title=f"Amazon 2023 {category.replace('_', ' ')}",
        page="https://amazon-reviews-2023.github.io/",
        terms="Research use; cite Hou et al. (arXiv 2403.03952).",
        files=(
            RawFile("ratings", ratings, url=f"{URL_2023}/benchmark/5core/rating_only/{ratings}", choice="interactions"),
            RawFile("reviews", reviews, url=f"{URL_2023}/raw/review_categories/{reviews}", choice="interactions"),
            RawFile("metadata", metadata, url=f"{URL_2023}/raw/meta_categories/{metadata}"),
        ),
        read=amazon_2023.read,
        steps=BENCHMARK_2023,
        event="review",
        text=SHOP_TEXT,
        ratings=STARS,
        notes=(
            "timestamps are milliseconds",
            "rating_avg and rating_count cover the test period: good for serving, a leak when evaluating",
        ),
    )


AMAZON_2023 = tuple(_amazon_2023(category) for category in CATEGORIES_2023)
