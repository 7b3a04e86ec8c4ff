"""The experiments that this process knows: those of a file and those of the admin API, kept in a replicated table."""

import asyncio
import tomllib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import orjson
import structlog
from pydantic import ValidationError

from models.errors import ConfigError
from service.experiments.model import Experiment, utc_now
from service.redis import keys
from service.redis.link import RedisDownError, RedisLink
from service.redis.replica import Changes, Replica

log = structlog.get_logger(__name__)
TABLE = "experiments"
FILE_POLL_S = 1.0


class ExperimentConflictError(Exception):
    """A change that would spoil an experiment; the message says which and what to do."""


def read_file(path: Path) -> tuple[Experiment, ...]:
    """Experiments of a TOML file (`[[experiment]]` tables) or of a JSON list.

    Raises:
        ConfigError: the file is absent, not of its format, or an experiment in it is not valid.
    """
    try:
        raw = path.read_bytes()
        found = tomllib.loads(raw.decode()).get("experiment", []) if path.suffix == ".toml" else orjson.loads(raw)
        experiments = tuple(Experiment.model_validate(entry) for entry in found)
        check_together(experiments)
    except (OSError, ValueError, ExperimentConflictError) as error:
        raise ConfigError(
            str(path),
            found=_told(error) if isinstance(error, ValidationError) else str(error),
            expected="experiments: name, salt, traffic, variants with name, weight and retriever",
            remedy="Correct the file; experiments known before stay as they are.",
        ) from error
    return experiments


def _told(error: ValidationError) -> str:
    """The first fault: where, and what.

    >>> variant = {"name": "x", "retriever": "gr", "alpa": 1}
    >>> try: Experiment.model_validate({"name": "a", "salt": "s", "variants": [variant]})
    ... except ValidationError as error: print(_told(error))
    variants.0.alpa = 1 (Extra inputs are not permitted)
    """
    first = error.errors()[0]
    given = first["input"]
    shown = f" = {given!r}" if isinstance(given, str | int | float) else ""
    return f"{'.'.join(map(str, first['loc']))}{shown} ({first['msg']})"


def check_together(experiments: Iterable[Experiment]) -> None:
    """Refuse two running experiments of one scenario, and one salt under two names.

    Raises:
        ExperimentConflictError: says which two.
    """
    scenarios: dict[str | None, str] = {}
    salts: dict[str, str] = {}
    for experiment in experiments:
        other = scenarios.setdefault(experiment.scenario, experiment.name) if experiment.running else experiment.name
        if other != experiment.name:
            raise ExperimentConflictError(
                f"{experiment.name} and {other} would both run in scenario {experiment.scenario or 'any'}; "
                "stop one first"
            )
        if (owner := salts.setdefault(experiment.salt, experiment.name)) != experiment.name:
            raise ExperimentConflictError(f"{experiment.name} has the salt of {owner}; give it one of its own")


class ExperimentBook:
    """Lookup by scenario and changes with their rules. Experiments of the file win over the table's."""

    def __init__(self, link: RedisLink, file: Path | None = None) -> None:
        self.table = Replica(link, TABLE)
        self.table.on_change.append(self._changed)
        self._link, self._file = link, file
        self._file_stamp = 0
        self._from_file: dict[str, Experiment] = {}
        self._from_table: dict[str, Experiment] = {}

    def all(self) -> dict[str, Experiment]:
        """Every known experiment by name."""
        return self._from_table | self._from_file

    def active(self, now: datetime | None = None) -> list[Experiment]:
        """Those that decide requests now."""
        moment = now or utc_now()
        return [experiment for experiment in self.all().values() if experiment.active(moment)]

    def running(self, scenario: str | None, now: datetime | None = None) -> Experiment | None:
        """The experiment that decides a request: one of its very scenario, else one of any scenario."""
        active = self.active(now)
        own = [experiment for experiment in active if experiment.scenario == scenario]
        return next(iter(own), None) or next((other for other in active if other.scenario is None), None)

    async def put(self, experiment: Experiment) -> int:
        """Keep an experiment, new or changed. Returns the table's revision.

        Raises:
            ExperimentConflictError: it would spoil itself or another.
            RedisDownError: nothing was acknowledged.
        """
        if experiment.name in self._from_file:
            raise ExperimentConflictError(f"{experiment.name} is defined in the experiments file; change it there")
        check_together((self.all() | {experiment.name: experiment}).values())
        await self._claim_salt(experiment)
        return await self.table.put({experiment.name: experiment.encode()})

    async def drop(self, name: str) -> bool:
        """Forget an experiment; its salt stays taken. False if the table has none of that name.

        Raises:
            RedisDownError: nothing was acknowledged.
        """
        if name not in self._from_table:
            return False
        await self.table.put({name: None})
        return True

    async def _claim_salt(self, experiment: Experiment) -> None:
        arms = experiment.arms()
        await self._link.call(lambda client: client.hsetnx(keys.SALTS, experiment.salt, arms))
        held = await self._link.call(lambda client: client.hget(keys.SALTS, experiment.salt))
        if held != arms:
            raise ExperimentConflictError(
                f"salt {experiment.salt!r} was used with other variants or weights; new ones need a new salt, "
                "or units would move between variants"
            )

    async def read_file(self) -> None:
        """Take over the experiments file if it changed; a bad file is reported and what was known stays."""
        if self._file is None or (stamp := _stamp(self._file)) == self._file_stamp:
            return
        self._file_stamp = stamp
        try:
            found = {experiment.name: experiment for experiment in read_file(self._file)}
            check_together((self._from_table | found).values())
            for experiment in found.values():
                await self._claim_salt(experiment)
        except RedisDownError:
            self._file_stamp = 0
            self._from_file = self._from_file or found
        except (ConfigError, ExperimentConflictError) as error:
            log.error("experiments_file_refused", error=str(error))
        else:
            self._from_file = found

    async def follow_file(self) -> None:
        """Read the file now and whenever it changes."""
        while True:
            await self.read_file()
            await asyncio.sleep(FILE_POLL_S)

    def _changed(self, changes: Changes) -> None:
        for name, stored in changes.items():
            self._from_table.pop(name, None)
            if stored is None:
                continue
            try:
                self._from_table[name] = Experiment.model_validate_json(stored)
            except ValidationError as error:  # kept by another release; units get the default here meanwhile
                log.error("experiment_not_understood", experiment=name, error=str(error.errors()[0]["msg"]))


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return -1
