# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""apt's source files (sources.list(5)), whoever wrote them: entries of one repository found, and switched off.

apt reads no source at all while two entries of one URI and suite differ in Signed-By, Trusted or the like, however each
of them is written. So there can be one entry alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node.rendered_files import FileChange, read_text
from .switched_off import Marks, changes

# Of other names in sources.list.d apt reads none.
_READ = re.compile(r"[A-Za-z0-9_.-]+\.(list|sources)")
_ONE_LINE = re.compile(
    r"\s*(?P<type>deb|deb-src)\s+"
    r"(?:\[[^\]]*\]\s*)?(?P<uri>[^\s#]+)\s+(?P<suite>[^\s#]+)(?P<rest>[^#]*)"
)
_FIELD = re.compile(r"(?P<name>[A-Za-z0-9-]+):(?P<value>.*)")
# apt's words where two entries of one URI and suite differ; it reads no source at all then.
CONFLICT = re.compile(
    r"Conflicting values set for option (?P<option>\S+) regarding source (?P<uri>\S+?)/? (?P<suite>[^\s:]+)"
)
# What apt takes for no.
_NO = ("no", "false", "without", "off", "disable", "0")


def plain_uri(uri: str) -> str:
    """One text for the ways to write a URI: the host's letters in either case, a slash at the end or none."""
    scheme, _colon, rest = uri.partition(":")
    host, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "/", rest.lstrip("/"))
    return f"{scheme.lower()}://{host.lower()}{slash}{path}".rstrip("/")


@dataclass(frozen=True)
class Wanted:
    """The one entry that is to be: what is looked for in the files, and the file that has it."""

    sources_path: str
    uri: str
    suite: str
    components: Sequence[str]

    @property
    def marks(self) -> Marks:
        """See :class:`Marks`."""
        return Marks(Path(self.sources_path).stem)

    def is_meant(self, uri: str, suite: str) -> bool:
        """Whether an entry is of the same repository."""
        return plain_uri(uri) == plain_uri(self.uri) and suite.strip("/") == self.suite.strip("/")


def source_files(apt: Path) -> list[Path]:
    """The files that apt reads its sources from, in its order; ``apt`` is its directory of configuration."""
    parts = sorted(path for path in (apt / "sources.list.d").glob("*") if _READ.fullmatch(path.name))
    return [path for path in (apt / "sources.list", *parts) if path.is_file()]


def switched_off(wanted: Wanted) -> list[FileChange]:
    """Have ``wanted`` be the only entry of its repository: what other files say of it is switched off in them.

    What was switched off and is of another repository by now is given back. Raises GaudiError for an entry that ours
    does not stand for.
    """
    own = Path(wanted.sources_path)
    others = [path for path in source_files(own.parent.parent) if path != own]
    return changes(others, lambda path, text: edited(path, wanted.marks.given_back(text), wanted))


def given_back(*sources_paths: str) -> list[FileChange]:
    """Undo :func:`switched_off`, for repositories of ours that go. All at once: a file may have entries of several."""
    own = [Path(path) for path in sources_paths]
    others = [path for path in source_files(own[0].parent.parent) if path not in own]

    def without_us(_path: Path, text: str) -> str:
        for one in own:
            text = Marks(one.stem).given_back(text)
        return text

    return changes(others, without_us)


def edited(path: Path, text: str, wanted: Wanted) -> str:
    """The text of a file without the entries of ``wanted``; all other lines are as they were."""
    lines = text.split("\n")
    if path.suffix == ".sources":
        return "\n".join(line for stanza in _stanzas(lines) for line in _edited_stanza(path, stanza, wanted))
    return "\n".join(_edited_line(path, line, wanted) for line in lines)


def files_of(apt: Path, uri: str, suite: str) -> list[str]:
    """The files that have an entry of this repository that is in force."""
    looked_for = Wanted("/", uri, suite, ())
    texts = {str(path): (path, read_text(str(path)) or "") for path in source_files(apt)}
    return [name for name, (path, text) in texts.items() if _has(path, text, looked_for)]


def components(apt: Path, suite: str) -> set[str]:
    """The components that the node reads of a distribution's suite and of those beside it (``jammy-updates``)."""
    found: set[str] = set()
    for path in source_files(apt):
        lines = (read_text(str(path)) or "").split("\n")
        for suites, names in _read_stanzas(lines) if path.suffix == ".sources" else _read_lines(lines):
            if any(name == suite or name.startswith(f"{suite}-") for name in suites):
                found.update(names)
    return found


def _read_lines(lines: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    for entry in filter(None, map(_ONE_LINE.match, lines)):
        yield [entry["suite"]], entry["rest"].split()


def _read_stanzas(lines: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    for fields in map(_fields, _stanzas(lines)):
        suites, names, enabled = (fields.get(key, _NOTHING).words for key in ("suites", "components", "enabled"))
        if not enabled or enabled[0].lower() not in _NO:
            yield suites, names


def _has(path: Path, text: str, wanted: Wanted) -> bool:
    try:
        return edited(path, text, wanted) != text
    except GaudiError:
        return True


def _edited_line(path: Path, line: str, wanted: Wanted) -> str:
    found = _ONE_LINE.match(line)
    if found is None or not wanted.is_meant(found["uri"], found["suite"]):
        return line
    _require_components(path, found["rest"].split(), wanted)
    return f"{wanted.marks.was}{line}"


def _stanzas(lines: Sequence[str]) -> Iterator[list[str]]:
    """Each stanza with the blank line that ends it."""
    stanza: list[str] = []
    for line in lines:
        stanza.append(line)
        if not line.strip():
            yield stanza
            stanza = []
    yield stanza


@dataclass(frozen=True)
class _Field:
    """A field of a stanza: its words, and the numbers of the lines that it has."""

    words: Sequence[str]
    lines: Sequence[int]


_NOTHING = _Field((), ())


def _fields(stanza: Sequence[str]) -> dict[str, _Field]:
    fields: dict[str, _Field] = {}
    name = ""
    for number, line in enumerate(stanza):
        found = _FIELD.match(line)
        if found:
            name = found["name"].lower()
            fields[name] = _Field(found["value"].split(), [number])
        elif line[:1] in (" ", "\t") and name:
            fields[name] = _Field([*fields[name].words, *line.split()], [*fields[name].lines, number])
    return fields


def _edited_stanza(path: Path, stanza: Sequence[str], wanted: Wanted) -> list[str]:
    fields = _fields(stanza)
    uris, suites = (fields.get(name, _NOTHING) for name in ("uris", "suites"))
    meant = [(uri, suite) for uri in uris.words for suite in suites.words if wanted.is_meant(uri, suite)]
    enabled = fields.get("enabled", _NOTHING)
    if not meant or (enabled.words and enabled.words[0].lower() in _NO):
        return list(stanza)
    _require_components(path, fields.get("components", _NOTHING).words, wanted)
    other_uris = [uri for uri in uris.words if not any(uri == one for one, _suite in meant)]
    other_suites = [suite for suite in suites.words if not any(suite == one for _uri, one in meant)]
    if other_uris and other_suites:
        raise GaudiError(
            f"{path} has a stanza of several URIs and several suites, among them {wanted.uri} {wanted.suite}, of which "
            "apt accepts only one entry; give that its own stanza there, or remove it.",
            file=str(path),
        )
    if other_uris:
        return _replaced(stanza, uris, f"URIs: {' '.join(other_uris)}", wanted.marks)
    if other_suites:
        return _replaced(stanza, suites, f"Suites: {' '.join(other_suites)}", wanted.marks)
    return _replaced(stanza, enabled, "Enabled: no", wanted.marks)


def _replaced(stanza: Sequence[str], field: _Field, line: str, marks: Marks) -> list[str]:
    """The stanza with ``line`` in the place of ``field``; one that it lacks is put before all others."""
    first = next(number for number, text in enumerate(stanza) if _FIELD.match(text))
    place = field.lines[0] if field.lines else first
    after = []
    for number, text in enumerate(stanza):
        if number == place:
            after += marks.put(line)
        after.append(f"{marks.was}{text}" if number in field.lines else text)
    return after


def _require_components(path: Path, components: Sequence[str], wanted: Wanted) -> None:
    more = [name for name in components if name not in wanted.components]
    if wanted.components and more:
        raise GaudiError(
            f"{path} has an entry of {wanted.uri} {wanted.suite}, of which apt accepts only one, and it has the "
            f"components {', '.join(more)}, too; add them to components, or take the entry out of {path}.",
            file=str(path),
        )
