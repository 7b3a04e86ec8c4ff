"""Sequences of users and their division: last item for test, the one before for validation, the rest for training."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from models.retrieval import Items
from models.words import Split

SHORTEST_SPLIT = 3
"""Shorter sequences are all training and have no target."""


class Part(StrEnum):
    """Parts of a sequence."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


@dataclass(frozen=True)
class Sequences:
    """All users' sequences after truncation, oldest first, and how they are divided.

    Attributes:
        user_ids: string [n_users], in the order of their UTF-8 bytes.
        offsets: int64 [n_users + 1]: sequence of user u lies at items[offsets[u]:offsets[u + 1]].
        items: int32 item indices.
        split: how the sequences are divided.
    """

    user_ids: pa.Array
    offsets: npt.NDArray[np.int64]
    items: Items
    split: Split

    def __len__(self) -> int:
        """Number of users."""
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """int64 [n_users]: length of each sequence, held-out items included."""
        return np.diff(self.offsets)

    @cached_property
    def held_out(self) -> npt.NDArray[np.int64]:
        """int64 [n_users]: items at the end that are not training, 2 or 0."""
        divided = (self.lengths >= SHORTEST_SPLIT) & (self.split is Split.LEAVE_LAST_OUT)
        return np.where(divided, 2, 0).astype(np.int64)

    def sequence(self, user: int) -> Items:
        """int32: the whole sequence of a user."""
        return self.items[self.offsets[user] : self.offsets[user + 1]]

    def train(self, user: int) -> Items:
        """int32: the training part of a user's sequence."""
        return self.items[self.offsets[user] : self.offsets[user + 1] - self.held_out[user]]

    def with_targets(self) -> npt.NDArray[np.int64]:
        """int64: the users that have a validation and a test target."""
        return np.flatnonzero(self.held_out)

    def targets(self, users: npt.NDArray[np.int64], part: Part) -> Items:
        """int32 [len(users)]: each user's validation or test target.

        >>> import pyarrow as pa
        >>> one = Sequences(pa.array(["u"]), np.array([0, 4]), np.array([7, 8, 9, 5], np.int32), Split.LEAVE_LAST_OUT)
        >>> one.targets(np.array([0]), Part.TEST).tolist(), one.history(0, Part.TEST).tolist(), one.train(0).tolist()
        ([5], [7, 8, 9], [7, 8])
        """
        return self.items[self.offsets[users + 1] - _from_end(part)]

    def history(self, user: int, part: Part) -> Items:
        """int32: everything before the user's target of that part."""
        return self.items[self.offsets[user] : self.offsets[user + 1] - _from_end(part)]

    def training_rows(self) -> npt.NDArray[np.bool_]:
        """bool [len(items)]: which of the items are training."""
        left = np.repeat(self.offsets[1:], self.lengths) - np.arange(len(self.items))
        return left > np.repeat(self.held_out, self.lengths)


def _from_end(part: Part) -> int:
    if part is Part.TRAIN:
        raise ValueError("the training part has no target")
    return 1 if part is Part.TEST else 2
