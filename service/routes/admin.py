"""`/admin/*`: bundles and experiments; only with the admin key."""

import asyncio
import os
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from models.bundle import versions
from models.errors import BundleError
from models.words import FallbackReason
from service.experiments.book import ExperimentConflictError
from service.experiments.model import Experiment
from service.live.live import Live
from service.live.schemas import BundleAnswer, ExperimentsAnswer
from service.problems import FieldError, ProblemError, ProblemKind, bad_fields, unavailable
from service.redis.link import RedisDownError
from service.routes.documented import problems
from service.routes.live import LiveRoutes, answer, body_of
from service.runtime import Runtime
from service.schemas import Id


def _conflict(detail: str) -> ProblemError:
    return ProblemError(HTTPStatus.CONFLICT, ProblemKind.CONFLICT, detail)


def _unknown(name: str) -> ProblemError:
    return ProblemError(HTTPStatus.NOT_FOUND, ProblemKind.NOT_FOUND, f"There is no experiment {name!r}.")


class AdminRoutes:
    """The routes' work.

    Args:
        runtime: state of the process.
        live: the live parts, None = no Redis is configured.
    """

    def __init__(self, runtime: Runtime, live: Live | None) -> None:
        self._runtime, self._routes = runtime, LiveRoutes(runtime, live)

    async def bundles(self) -> dict[str, Any]:
        """Bundles as this process sees them."""
        root = self._runtime.settings.bundles
        try:
            current = await asyncio.to_thread(versions.current, root)
            known = await asyncio.to_thread(versions.list_versions, root)
        except (BundleError, OSError) as error:
            raise _conflict(f"The folder of bundles cannot be read: {type(error).__name__}.") from None
        engine = self._runtime.engine
        return {
            "serves": None if engine is None else engine.version,
            "current": current,
            "versions": list(known),
            "refusal": None if self._runtime.refusal is None else self._without_root(self._runtime.refusal),
        }

    def _without_root(self, text: str) -> str:
        """No answer names a folder of the machine."""
        root = str(self._runtime.settings.bundles)
        return text.replace(f"{root}{os.sep}", "").replace(root, "the folder of bundles")

    async def reload(self) -> dict[str, Any]:
        """Look at CURRENT now; the other processes do so within their poll interval."""
        await self._runtime.refresh(forced=True)
        if self._runtime.refusal is not None:
            raise _conflict(f"The bundle was refused, the old one serves: {self._without_root(self._runtime.refusal)}")
        return await self.bundles()

    async def roll_back(self) -> dict[str, Any]:
        """Return to the version that served before."""
        try:
            await asyncio.to_thread(versions.rollback, self._runtime.settings.bundles)
        except BundleError as error:
            raise _conflict(self._without_root(str(error))) from None
        return await self.reload()

    def experiments(self) -> dict[str, Any]:
        """All of them."""
        found = self._routes.live().book.all().values()
        return {"experiments": [experiment.model_dump(mode="json") for experiment in found]}

    def experiment(self, name: str) -> Experiment:
        """One of them."""
        found = self._routes.live().book.all().get(name)
        if found is None:
            raise _unknown(name)
        return found

    async def put(self, name: str, request: Request) -> Experiment:
        """Keep one."""
        experiment: Experiment = await self._routes.read(Experiment, request)
        if experiment.name != name:
            raise bad_fields([FieldError(f"the path says {name!r}, the body says {experiment.name!r}", "#/name")])
        return await self.keep(experiment)

    async def keep(self, experiment: Experiment) -> Experiment:
        """Write one."""
        try:
            await self._routes.live().book.put(experiment)
        except ExperimentConflictError as error:
            raise _conflict(str(error)) from None
        except RedisDownError:
            raise _redis_down() from None
        return experiment

    async def drop(self, name: str) -> None:
        """Forget one."""
        try:
            if not await self._routes.live().book.drop(name):
                raise _unknown(name)
        except RedisDownError:
            raise _redis_down() from None


def _redis_down() -> ProblemError:
    return unavailable("Redis does not answer; nothing was changed.", reason=FallbackReason.REDIS)


def admin_routes(runtime: Runtime, live: Live | None) -> APIRouter:
    """The routes, over the state of the process."""
    router, work = APIRouter(prefix="/admin", tags=["admin"]), AdminRoutes(runtime, live)

    @router.get(
        "/bundles", operation_id="listBundles", response_model=BundleAnswer, responses=problems(409), summary="Bundles"
    )
    async def list_bundles() -> Response:
        """What is there, what CURRENT names, what this process serves, and why a newer one was refused."""
        return answer(await work.bundles())

    @router.post(
        "/bundles/reload",
        operation_id="reloadBundle",
        response_model=BundleAnswer,
        responses=problems(409, 503),
        summary="Load what CURRENT names now",
    )
    async def reload_bundle() -> Response:
        """Opens and verifies the bundle beside the one that serves; 409 and the reason if it is refused."""
        return answer(await work.reload())

    @router.post(
        "/bundles/rollback",
        operation_id="rollBackBundle",
        response_model=BundleAnswer,
        responses=problems(409, 503),
        summary="Return to the version that served before",
    )
    async def roll_back_bundle() -> Response:
        """Changes CURRENT; every process follows."""
        return answer(await work.roll_back())

    @router.get(
        "/experiments",
        operation_id="listExperiments",
        response_model=ExperimentsAnswer,
        responses=problems(503),
        summary="Experiments",
    )
    async def list_experiments() -> Response:
        """Those of the file and those of this API."""
        return answer(work.experiments())

    @router.get(
        "/experiments/{name:segment}",
        operation_id="getExperiment",
        response_model=Experiment,
        responses=problems(400, 404, 422, 503),
        summary="One experiment",
    )
    async def get_experiment(name: Id) -> Response:
        """As it is kept."""
        return answer(work.experiment(name).model_dump(mode="json"))

    @router.put(
        "/experiments/{name:segment}",
        operation_id="putExperiment",
        response_model=Experiment,
        responses=problems(400, 408, 409, 413, 415, 422, 503),
        summary="Create or change an experiment",
        openapi_extra=body_of(Experiment),
    )
    async def put_experiment(name: Id, request: Request) -> Response:
        """New variants or weights need a new salt; more traffic, start and stop do not."""
        return answer((await work.put(name, request)).model_dump(mode="json"))

    @router.delete(
        "/experiments/{name:segment}",
        operation_id="deleteExperiment",
        status_code=204,
        responses=problems(400, 404, 422, 503),
        summary="Forget an experiment",
    )
    async def delete_experiment(name: Id) -> Response:
        """Its salt stays taken."""
        await work.drop(name)
        return Response(status_code=204)

    @router.post(
        "/experiments/{name:segment}/start",
        operation_id="startExperiment",
        response_model=Experiment,
        responses=problems(400, 404, 409, 422, 503),
        summary="Let an experiment decide requests",
    )
    async def start_experiment(name: Id) -> Response:
        """409 if another one runs in its scenario."""
        started = work.experiment(name).model_copy(update={"running": True})
        return answer((await work.keep(started)).model_dump(mode="json"))

    @router.post(
        "/experiments/{name:segment}/stop",
        operation_id="stopExperiment",
        response_model=Experiment,
        responses=problems(400, 404, 409, 422, 503),
        summary="Let an experiment decide nothing more",
    )
    async def stop_experiment(name: Id) -> Response:
        """Its data stays."""
        stopped = work.experiment(name).model_copy(update={"running": False})
        return answer((await work.keep(stopped)).model_dump(mode="json"))

    return router
