"""A Containerfile as stages of instructions: the part of the format that ours uses, and an error for any other."""

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

KNOWN = {"ARG", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "LABEL", "RUN", "USER", "WORKDIR"}


@dataclass(frozen=True)
class Instruction:
    """One instruction, its continued lines joined; `line` is where it begins."""

    word: str
    text: str
    line: int

    def pairs(self) -> dict[str, str]:
        """The `name=value` pairs of ARG, ENV and LABEL."""
        return dict(part.partition("=")[::2] for part in shlex.split(self.text))

    def copied(self) -> tuple[str, list[str], str]:
        """Of COPY: the stage it copies from (empty: the build context), the sources and the target."""
        *sources, target = [part for part in self.text.split() if not part.startswith("--")]
        flags = dict(part[2:].split("=", 1) for part in self.text.split() if part.startswith("--"))
        if set(flags) - {"from"}:
            raise ValueError(f"line {self.line}: an option of COPY that the tests do not know: {self.text}")
        return flags.get("from", ""), sources, target


@dataclass(frozen=True)
class Stage:
    """One stage: what it is based on, its name, and what is done in it."""

    base: str
    name: str
    steps: list[Instruction] = field(default_factory=list)

    def of(self, word: str) -> list[Instruction]:
        """Its instructions of one kind."""
        return [step for step in self.steps if step.word == word]

    def last(self, word: str) -> str:
        """The text of the last one of a kind, which is the one that counts."""
        return self.of(word)[-1].text

    @property
    def entrypoint(self) -> list[str]:
        """The command that a container runs."""
        return list(json.loads(self.last("ENTRYPOINT")))


def read(path: Path) -> list[Stage]:
    """Give the stages in order; raises ValueError naming the line of what the tests do not know."""
    given: dict[str, str] = {}
    stages: list[Stage] = []
    for step in _instructions(path.read_text(encoding="utf-8")):
        if step.word not in KNOWN:
            raise ValueError(f"{path.name}:{step.line}: an instruction that the tests do not know: {step.word}")
        if step.word == "FROM":
            base, _, name = Template(step.text).substitute(given).partition(" AS ")
            stages.append(Stage(base, name))
        elif stages:
            stages[-1].steps.append(step)
        else:
            given |= step.pairs()
    return stages


def _instructions(text: str) -> list[Instruction]:
    found, pending, begun = [], "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or not (line.strip() or pending):
            continue
        begun = begun if pending else number
        pending += line.removesuffix("\\").strip() + " "
        if not line.endswith("\\"):
            word, _, rest = pending.strip().partition(" ")
            found.append(Instruction(word, rest, begun))
            pending = ""
    return found
