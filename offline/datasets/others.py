"""The data sets of the heuristic paper that do not come from Amazon's reviews, as data.

Figures are those of arXiv 2605.07125; mean lengths are from the page of its published code.
"""

from offline.datasets.figures import Figures
from offline.datasets.raw import Archive, RawFile
from offline.datasets.readers import amazon_m2, goodreads, hetrec, hm, mind, movielens, steam, yelp
from offline.datasets.spec import Dataset
from offline.datasets.steps import (
    Between,
    CollapseRepeats,
    Core,
    Count,
    EarliestPerPair,
    FixCatalogue,
    InCatalogue,
    KeepNewest,
    MinBoth,
    MinPerItem,
    MinPerUser,
    RatingAtLeast,
)
from offline.datasets.workspace import RatingScale

STARS = RatingScale(1, 5)

LEAK = "rating_avg and rating_count cover the test period: good for serving, a leak when evaluating"

GROUPLENS = "https://files.grouplens.org/datasets"
DELICIOUS_ZIP = Archive("hetrec2011-delicious-2k.zip", f"{GROUPLENS}/hetrec2011/hetrec2011-delicious-2k.zip")
LASTFM_ZIP = Archive("hetrec2011-lastfm-2k.zip", f"{GROUPLENS}/hetrec2011/hetrec2011-lastfm-2k.zip")
MOVIELENS_ZIP = Archive("ml-1m.zip", f"{GROUPLENS}/movielens/ml-1m.zip", md5="c4d9eecfca2ab87c1945afe126590906")
HETREC_PAGE = "https://grouplens.org/datasets/hetrec-2011/"
HETREC_TERMS = "Non-commercial use; cite Cantador, Brusilovsky & Kuflik (HetRec 2011)."

DELICIOUS = Dataset(
    name="delicious",
    title="Delicious",
    page=HETREC_PAGE,
    terms=HETREC_TERMS,
    files=(
        RawFile("taggings", "user_taggedbookmarks-timestamps.dat", archive=DELICIOUS_ZIP),
        RawFile("bookmarks", "bookmarks.dat", archive=DELICIOUS_ZIP),
        RawFile("tags", "tags.dat", archive=DELICIOUS_ZIP),
    ),
    read=hetrec.read_delicious,
    steps=(EarliestPerPair(), MinPerItem(5, Count.PARTNERS), MinPerUser(5, Count.PARTNERS)),
    event="tag",
    text="Title: {title}; Tags: {paths}",
    expected=Figures(718, 1_200, 4_016, 9.13),
)

LASTFM = Dataset(
    name="lastfm",
    title="LastFM",
    page=HETREC_PAGE,
    terms=HETREC_TERMS,
    files=(
        RawFile("taggings", "user_taggedartists-timestamps.dat", archive=LASTFM_ZIP),
        RawFile("artists", "artists.dat", archive=LASTFM_ZIP),
        RawFile("tags", "tags.dat", archive=LASTFM_ZIP),
    ),
    read=hetrec.read_lastfm,
    steps=(EarliestPerPair(), Core(5, Count.PARTNERS), FixCatalogue(), KeepNewest(100), MinPerUser(3)),
    event="tag",
    text="Artist: {title}; Tags: {paths}",
    expected=Figures(1_090, 3_646, 30_372, 34.02),
    notes=("timestamps are months; a few lie at or before 1970 and are kept as published",),
)

MOVIELENS = Dataset(
    name="movielens-1m",
    title="MovieLens-1M",
    page="https://grouplens.org/datasets/movielens/1m/",
    terms="Research use, no redistribution; cite Harper & Konstan (TiiS 2015).",
    files=(
        RawFile("ratings", "ratings.dat", archive=MOVIELENS_ZIP),
        RawFile("films", "movies.dat", archive=MOVIELENS_ZIP),
    ),
    read=movielens.read,
    steps=(MinPerItem(5), FixCatalogue(), KeepNewest(100), MinPerUser(3)),
    event="rating",
    text="Title: {title}; Genres: {paths}",
    ratings=STARS,
    expected=Figures(6_040, 3_416, 268_867, 74.06),
)

YELP = Dataset(
    name="yelp",
    title="Yelp",
    page="https://www.yelp.com/dataset",
    terms="Academic use after accepting Yelp's data set agreement, so it is not fetched here.",
    files=(
        RawFile("reviews", "yelp_academic_dataset_review.json"),
        RawFile("businesses", "yelp_academic_dataset_business.json"),
    ),
    read=yelp.read,
    steps=(Between("2019-01-01 00:00:00", "2019-12-31 00:00:00"), Core(5), MinPerUser(3)),
    event="review",
    text="Title: {title}; Categories: {paths}",
    ratings=STARS,
    expected=Figures(30_431, 20_033, 219_632, 10.40),
    notes=(LEAK, "the published figures are of the release of 2020; Yelp replaces the files from time to time"),
)

MIND = Dataset(
    name="mind",
    title="MIND",
    page="https://msnews.github.io/",
    terms="Research use after accepting the Microsoft Research licence, so it is not fetched here.",
    files=(
        RawFile("behaviours", "MINDsmall_dev/behaviors.tsv", archive=Archive("MINDsmall_dev.zip")),
        RawFile("dev_news", "MINDsmall_dev/news.tsv", archive=Archive("MINDsmall_dev.zip")),
        RawFile("train_news", "MINDsmall_train/news.tsv", archive=Archive("MINDsmall_train.zip")),
    ),
    read=mind.read,
    steps=(InCatalogue(), EarliestPerPair(), MinPerUser(3)),
    event="click",
    text="{title}",
    expected=Figures(48_577, 39_757, 824_397, 28.16),
    notes=("articles of a history carry the time of the user's first impression; the row order orders them",),
)


def _goodreads(name: str, title: str, genre: str, expected: Figures) -> Dataset:
    base = "https://mcauleylab.ucsd.edu/public_datasets/gdrive/goodreads"
    interactions, books = f"goodreads_interactions_{genre}.json.gz", f"goodreads_books_{genre}.json.gz"
    authors = "goodreads_book_authors.json.gz"
    return Dataset(
        name=name,
        title=title,
        page="https://cseweb.ucsd.edu/~jmcauley/datasets/goodreads.html",
        terms="Academic use, no redistribution; cite Wan & McAuley (RecSys 2018).",
        files=(
            RawFile("interactions", interactions, url=f"{base}/byGenre/{interactions}"),
            RawFile("books", books, url=f"{base}/byGenre/{books}"),
            RawFile("authors", authors, url=f"{base}/{authors}"),
        ),
        read=goodreads.read,
        steps=(RatingAtLeast(4), InCatalogue(), CollapseRepeats(), MinPerItem(5), CollapseRepeats(), MinPerUser(5)),
        event="rating",
        text="Title: {title}; Authors: {brand}; Description: {description}",
        ratings=STARS,
        expected=expected,
        notes=(LEAK, "the paper's item text also holds publisher and year"),
    )


COMICS = _goodreads("goodreads-comics", "Goodreads-Comics", "comics_graphic", Figures(89_186, 48_623, 1_282_693, 33.78))
CHILDREN = _goodreads(
    "goodreads-children", "Goodreads-Children", "children", Figures(163_143, 55_221, 1_622_817, 24.26)
)

STEAM = Dataset(
    name="steam",
    title="Steam",
    page="https://cseweb.ucsd.edu/~jmcauley/datasets.html#steam_data",
    terms="Research use; cite Kang & McAuley (ICDM 2018).",
    files=(
        RawFile("reviews", "steam_reviews.json.gz", url="https://cseweb.ucsd.edu/~wckang/steam_reviews.json.gz"),
        RawFile("games", "steam_games.json.gz", url="https://cseweb.ucsd.edu/~wckang/steam_games.json.gz"),
    ),
    read=steam.read,
    steps=(InCatalogue(), MinBoth(5), MinPerUser(3)),
    event="review",
    text="Title: {title}; Developer: {brand}; Genres, tags and specs: {paths}",
    expected=Figures(334_728, 13_047, 1_524_022, 12.59),
    notes=("the paper's item text also holds the publisher",),
)

HM = Dataset(
    name="hm",
    title="H&M",
    page="https://www.kaggle.com/competitions/h-and-m-personalized-fashion-recommendations/data",
    terms="Competition rules have to be accepted on Kaggle, so it is not fetched here.",
    files=(RawFile("transactions", "transactions_train.csv"), RawFile("articles", "articles.csv")),
    read=hm.read,
    steps=(InCatalogue(), CollapseRepeats(), MinPerUser(3)),
    event="purchase",
    text="Title: {title}; Type, colour and department: {paths}; Description: {description}",
    expected=Figures(1_077_045, 104_468, 19_487_762, 26.01),
)

AMAZON_M2_UK = Dataset(
    name="amazon-m2-uk",
    title="Amazon-M2-UK",
    page="https://www.aicrowd.com/challenges/amazon-kdd-cup-23-multilingual-recommendation-challenge",
    terms="Challenge rules have to be accepted on AIcrowd, so it is not fetched here.",
    files=(RawFile("sessions", "sessions_train.csv"), RawFile("products", "products_train.csv")),
    read=amazon_m2.read,
    steps=(InCatalogue(), MinPerUser(3)),
    event="view",
    text="Title: {title}; Brand: {brand}; Description: {description}",
    expected=Figures(1_182_181, 494_409, 1_500_196, 5.12),
    notes=("timestamps are places in the session (1, 2, ...): the publisher gives no times",),
)

OTHERS = (DELICIOUS, LASTFM, MOVIELENS, YELP, MIND, COMICS, CHILDREN, STEAM, HM, AMAZON_M2_UK)
