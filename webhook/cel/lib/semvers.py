"""Kubernetes' semver library at version 1: reading, comparing and taking apart versions as blang/semver does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from webhook.cel.errors import CelError
from webhook.cel.function_types import Function
from webhook.cel.lib import costs
from webhook.cel.lib.go.strconv import quote, to_bytes
from webhook.cel.lib.ordering import NO_OVERLOAD
from webhook.cel.lib.rows import library, member, of_text, plain
from webhook.cel.types import BOOL, INT, STRING, Type, object_type

SEMVER_TYPE: Final = object_type("kubernetes.Semver")
_NUMBER: Final = re.compile(r"[0-9]*", re.ASCII)
_WORD: Final = re.compile(r"[0-9A-Za-z-]+", re.ASCII)
Identifier = int | str


@dataclass(frozen=True, slots=True)
class Semver:
    """A version: its three numbers, and the identifiers before and after a plus."""

    cel_type: ClassVar[Type] = SEMVER_TYPE
    numbers: tuple[int, int, int]
    prerelease: tuple[Identifier, ...] = ()
    build: tuple[str, ...] = ()

    def compare(self, other: Semver) -> int:
        """-1, 0 or 1 by precedence; the build does not count."""
        if self.numbers != other.numbers:
            return 1 if self.numbers > other.numbers else -1
        if not self.prerelease or not other.prerelease:
            return bool(other.prerelease) - bool(self.prerelease)
        for mine, theirs in zip(self.prerelease, other.prerelease, strict=False):
            a, b = _rank(mine), _rank(theirs)
            if a != b:
                return 1 if a > b else -1
        a_length, b_length = len(self.prerelease), len(other.prerelease)
        return (a_length > b_length) - (a_length < b_length)

    def cel_equal(self, other: object) -> bool:
        """Equal by precedence; CelError for anything that is no version."""
        if not isinstance(other, Semver):
            raise CelError(NO_OVERLOAD)
        return self.compare(other) == 0

    def __str__(self) -> str:
        text = ".".join(map(str, self.numbers))
        if self.prerelease:
            text += f"-{'.'.join(map(str, self.prerelease))}"
        return f"{text}+{'.'.join(self.build)}" if self.build else text


def _rank(identifier: Identifier) -> tuple[bool, int, str]:
    """Numbers come before words, each in their own order."""
    return (False, identifier, "") if isinstance(identifier, int) else (True, 0, identifier)


def parse(text: str) -> Semver:
    """Read a version `major.minor.patch[-prerelease][+build]`; CelError in the words of blang/semver."""
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    core, plus, build = parts[2].partition("+")
    core, dash, prerelease = core.partition("-")
    patch = _number(core, "patch")
    before = tuple(map(_prerelease, prerelease.split("."))) if dash else ()
    return Semver((major, minor, patch), before, tuple(map(_build, build.split("."))) if plus else ())


def _number(text: str, name: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise CelError(f"Invalid character(s) found in {name} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise CelError(f"{name.capitalize()} number must not contain leading zeroes {quote(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) >= 2**64:
        raise CelError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def _prerelease(text: str) -> Identifier:
    if not text:
        raise CelError("Prerelease is empty")
    if _NUMBER.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise CelError(f"Numeric PreRelease version must not contain leading zeroes {quote(text)}")
        return _unsigned(text)
    if not _WORD.fullmatch(text):
        raise CelError(f"Invalid character(s) found in prerelease {quote(text)}")
    return text


def _build(text: str) -> str:
    if not text:
        raise CelError("Build meta data is empty")
    if not _WORD.fullmatch(text):
        raise CelError(f"Invalid character(s) found in build meta data {quote(text)}")
    return text


def normalise(text: str) -> str:
    """The version with a leading v and leading zeros taken off and missing numbers filled with 0.

    CelError where a short version has a prerelease or a build.
    """
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(char in parts[-1] for char in "+-"):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    if len(to_bytes(part)) < 2:
        return part
    bare = part.lstrip("0")
    return bare if bare and bare[0] in "0123456789" else f"0{bare}"


def semver(text: str, lenient: bool = False) -> Semver:
    """The version that the text is; a lenient reader takes `v1.2` too."""
    return parse(normalise(text) if lenient else text)


def is_semver(text: str, lenient: bool = False) -> bool:
    """Whether the text is a version."""
    try:
        semver(text, lenient)
    except CelError:
        return False
    return True


def _as_int(number: int) -> int:
    """An unsigned number as Go's conversion to int64 leaves it."""
    return number if number < 2**63 else number - 2**64


def major(version: Semver) -> int:
    """The first number."""
    return _as_int(version.numbers[0])


def minor(version: Semver) -> int:
    """The second number."""
    return _as_int(version.numbers[1])


def patch(version: Semver) -> int:
    """The third number."""
    return _as_int(version.numbers[2])


FUNCTIONS: Final = library(
    "kubernetes.Semver",
    Function(
        "semver",
        (
            of_text("string_to_semver", SEMVER_TYPE, semver, costs.read()),
            plain("string_bool_to_semver", (STRING, BOOL), SEMVER_TYPE, semver, costs.read()),
        ),
        "A version from a text. With true as second argument `v1.0` counts as 1.0.0.",
        (("semver('1.2.3').major()", "1"), ("semver('v01.2', true) == semver('1.2.0')", "true")),
    ),
    Function(
        "isSemver",
        (
            of_text("is_semver_string", BOOL, is_semver, costs.read()),
            plain("is_semver_string_bool", (STRING, BOOL), BOOL, is_semver, costs.read()),
        ),
        "Whether a text is a version.",
        (("isSemver('1.0.0')", "true"), ("isSemver('v1.0')", "false"), ("isSemver('v1.0', true)", "true")),
    ),
    Function(
        "isGreaterThan",
        (
            member(
                "semver_is_greater_than",
                SEMVER_TYPE,
                (SEMVER_TYPE,),
                BOOL,
                lambda a, b: a.compare(b) > 0,
                costs.nominal,
            ),
        ),
        "",
        (("semver('1.10.0').isGreaterThan(semver('1.9.0'))", "true"),),
    ),
    Function(
        "isLessThan",
        (
            member(
                "semver_is_less_than", SEMVER_TYPE, (SEMVER_TYPE,), BOOL, lambda a, b: a.compare(b) < 0, costs.nominal
            ),
        ),
        "",
        (("semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", "true"),),
    ),
    Function(
        "compareTo",
        (member("semver_compare_to", SEMVER_TYPE, (SEMVER_TYPE,), INT, Semver.compare, costs.nominal),),
        "",
        (("semver('1.0.0+a').compareTo(semver('1.0.0+b'))", "0"),),
    ),
    Function(
        "major",
        (member("semver_major", SEMVER_TYPE, (), INT, major, costs.nominal),),
        "The first number of a version.",
        (("semver('1.2.3').major()", "1"),),
    ),
    Function(
        "minor",
        (member("semver_minor", SEMVER_TYPE, (), INT, minor, costs.nominal),),
        "The second number of a version.",
        (("semver('1.2.3').minor()", "2"),),
    ),
    Function(
        "patch",
        (member("semver_patch", SEMVER_TYPE, (), INT, patch, costs.nominal),),
        "The third number of a version.",
        (("semver('1.2.3').patch()", "3"),),
    ),
)
