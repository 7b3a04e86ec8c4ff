"""What a Dockerfile says, as steps that can be read and carried out without an engine."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dockerfile_parse import DockerfileParser

VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


@dataclass(frozen=True)
class Step:
    """One instruction, its variables filled in.

    Attributes:
        kind: RUN, COPY, ENV...
        value: the rest of it.
    """

    kind: str
    value: str


@dataclass
class Stage:
    """What follows one FROM.

    Attributes:
        base: image or earlier stage.
        name: after AS, else empty.
        steps: in order.
    """

    base: str
    name: str
    steps: list[Step] = field(default_factory=list)


def _fill(text: str, values: dict[str, str]) -> str:
    """Build arguments filled in; what is no build argument is left to the shell."""
    return VARIABLE.sub(lambda match: values.get(match[1] or match[2], match[0]), text)


def read_stages(path: Path, build_args: dict[str, str]) -> list[Stage]:
    """The stages of a Dockerfile with build arguments given or at their defaults."""
    structure: list[dict[str, Any]] = DockerfileParser(path=str(path), cache_content=True).structure
    values, stages = dict(build_args), list[Stage]()
    for instruction in structure:
        kind, value = instruction["instruction"], instruction["value"]
        if kind == "COMMENT":
            continue
        if kind == "ARG":
            name, _, default = value.partition("=")
            values.setdefault(name, default)
        elif kind == "FROM":
            base, _, name = re.split(r"(\s+as\s+|$)", _fill(value, values), maxsplit=1, flags=re.IGNORECASE)
            stages.append(Stage(base, name.strip()))
        else:
            stages[-1].steps.append(Step(kind, _fill(value, values)))
    return stages


def lineage(stages: list[Stage], stage: Stage) -> list[Step]:
    """Steps of a stage after those of the stages it starts from."""
    parent = next((other for other in stages if other.name == stage.base), None)
    return [*(lineage(stages, parent) if parent else []), *stage.steps]


def stage_named(stages: list[Stage], name: str) -> Stage:
    """The stage of that name."""
    return next(stage for stage in stages if stage.name == name)


def environment(steps: list[Step]) -> dict[str, str]:
    """Variables that ENV sets."""
    found: dict[str, str] = {}
    for step in steps:
        if step.kind == "ENV":
            pairs = re.findall(r'(\w+)=("[^"]*"|\S+)', step.value)
            found |= {name: value.strip('"') for name, value in pairs}
    return found


def last(steps: list[Step], kind: str) -> str:
    """The instruction of a kind that counts, empty if there is none."""
    return next((step.value for step in reversed(steps) if step.kind == kind), "")


def command_of(text: str) -> list[str]:
    """The words of a CMD, an ENTRYPOINT or a HEALTHCHECK in its exec form."""
    words: list[str] = json.loads(text[text.index("[") :])
    return words
