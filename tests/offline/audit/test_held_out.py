"""What the report is told of the held-out part."""

import numpy as np
import pyarrow as pa

from models.words import Split
from offline.evaluate import TargetUsers
from offline.report.bundle_facts import held_out
from offline.split import Part, Sequences


def test_the_held_out_part_names_targets_anchors_and_training_alone():
    items = np.array([7, 8, 9, 5, 1, 1, 2, 2, 3], np.int32)
    sequences = Sequences(pa.array(["a", "b", "c"]), np.array([0, 4, 6, 9]), items, Split.LEAVE_LAST_OUT)
    rows = sequences.with_targets()
    held = held_out(TargetUsers(sequences, rows, sequences.targets(rows, Part.TEST), Part.TEST))
    assert held.targets.tolist() == [5, 3]
    assert held.anchors.tolist() == [9, 2]
    assert held.training_items.tolist() == [7, 8, 1, 1, 2]
    assert held.training_users.tolist() == [0, 0, 1, 1, 2]
    assert (held.users, held.interactions) == (3, 9)
