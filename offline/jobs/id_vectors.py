"""Job `id-vectors`: item factors for the baselines that know items by their interactions alone."""

from models.bundle import layout
from offline.jobs.base import Context, Facts, Job
from offline.training.bpr import BprConfig, item_factors
from offline.training.histories import Histories


def run(context: Context) -> Facts:
    """Write the factors."""
    sequences = context.dataset.sequences()
    histories = Histories.of([sequences.train(user) for user in range(len(sequences))])
    config = BprConfig()
    context.writer.add_array(layout.ID_VECTORS, item_factors(histories, len(context.ids()), config))
    return {"method": "bpr", "width": config.width, "epochs": config.epochs}


JOB = Job(
    "id-vectors", "item factors of id-last", run, writes=(layout.ID_VECTORS,), after=("items",), reads_inputs=True
)
