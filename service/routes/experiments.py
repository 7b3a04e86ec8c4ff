"""`GET /experiments`: what runs now, for whoever may ask for lists; salts and shares stay behind /admin."""

from fastapi import APIRouter
from starlette.responses import Response

from service.experiments.model import Experiment
from service.live.live import Live
from service.live.schemas import RunningAnswer
from service.routes.documented import problems
from service.routes.live import answer


def _shown(experiment: Experiment) -> dict[str, object]:
    variants = [{"name": one.name, "retriever": one.retriever.value} for one in experiment.variants]
    return {"name": experiment.name, "scenario": experiment.scenario, "variants": variants}


def experiment_routes(live: Live | None) -> APIRouter:
    """The route; without Redis no experiment runs."""
    router = APIRouter(tags=["recommend"])

    @router.get(
        "/experiments",
        operation_id="listRunningExperiments",
        response_model=RunningAnswer,
        responses=problems(429),
        summary="Experiments that run now",
    )
    async def list_running() -> Response:
        """Their variants may be forced by `variant` of `/recommend`."""
        return answer({"experiments": [] if live is None else [_shown(one) for one in live.book.active()]})

    return router
