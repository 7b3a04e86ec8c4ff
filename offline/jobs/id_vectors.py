"""Job `id-vectors`: item factors for the baselines that know items by their interactions alone."""

import numpy as np

from models.bundle import layout
from offline.jobs.base import Context, Facts, Job
from offline.jobs.bpr import BprConfig, item_factors


def run(context: Context) -> Facts:
    """Write the factors."""
    sequences = context.dataset.sequences()
    training = sequences.training_rows()
    users = np.repeat(np.arange(len(sequences), dtype=np.int32), sequences.lengths)[training]
    config = BprConfig()
    factors = item_factors(users, sequences.items[training], len(context.ids()), config)
    context.writer.add_array(layout.ID_VECTORS, factors)
    return {"method": "bpr", "width": config.width, "epochs": config.epochs}


JOB = Job(
    "id-vectors", "item factors of id-last", run, writes=(layout.ID_VECTORS,), after=("items",), reads_inputs=True
)
