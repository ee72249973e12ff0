# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernel's own driver calls things, read from its source: names that the simulator and our readers have too.

``python3 -m tests.upstream_names`` has apt fetch the sources and writes ``upstream_names.json`` anew. It has names, the
forms of values, and of the log the forms of :data:`LOG_LINES`; the source is GPL-2 and stays where apt puts it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.repository.upstream_driver import SERIES, Series, read, source_of

# Lines of the kernel's log that tests say are the driver's, as public files have them, without time and device.
LOG_LINES = (
    "Successfully added device 0000:21:00.0 to habanalabs driver",
    "Failed to communicate with Device CPU (CPU-CP timeout)",
    "Fatal error during hard-reset",
    "Device reset failed",
    "failed to initialize CPU H/W queues -5",
    "Failed to initialize hl2. Device is NOT usable !",
    "Failed to initialize accel2. Device 0000:1a:00.0 is NOT usable!",
    "EQ error interrupt received",
)
# A form of hardly more than conversions fits any line.
_LEAST_WORDS = 10

DATA = Path(__file__).with_name("upstream_names.json")
_STRING = r'"(?:[^"\\]|\\.)*"'
_STRINGS = rf"{_STRING}(?:\s*(?:[A-Z_]+\s*)?{_STRING})*"
_SHOW = re.compile(r"^static ssize_t (\w+)_show\(.*?^}", re.MULTILINE | re.DOTALL)
_PRINTED = re.compile(rf"\bsprintf\(buf,\s*({_STRINGS})")
_WRITE_ONLY = re.compile(r"\bDEVICE_ATTR_WO\((\w+)\)")
_STATUS = re.compile(rf"\(hdev->status\[\w+\],\s*({_STRING})")
_TYPE = re.compile(rf"\bstr = ({_STRING})")
_PARAMETER = re.compile(r"^module_param\((\w+),", re.MULTILINE)
_DEVICE_ID = re.compile(r"^#define PCI_IDS_\w+\s+(0x[0-9a-f]{4})$", re.MULTILINE)
_PREFIX = re.compile(rf"^#define pr_fmt\(fmt\)\s+({_STRING}) fmt", re.MULTILINE)
_SAID = re.compile(
    rf"\b(?:(?:dev|hl)_(?:emerg|alert|crit|err|warn|notice|info)(?:_ratelimited|_once)?\(\s*[^,;\"]+,|pr_\w+\()"
    rf"\s*({_STRINGS})"
)
_CONVERSION = re.compile(r"%%|%[-#0 +]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[a-zA-Z]\w{0,2}?(?=\W|$)|%[-#0 +]*\d*l*[duxsc]")


@dataclass(frozen=True)
class Names:
    """Of one source.

    ``attributes``: name below a card in sysfs -> the forms in which printf writes its value, none where it can only be
    written. ``prefix``: what begins the lines of the log that are of no device. ``log``: a line of :data:`LOG_LINES` ->
    the form by which the driver writes it, where it does.
    """

    attributes: Mapping[str, tuple[str, ...]]
    statuses: tuple[str, ...]
    device_types: tuple[str, ...]
    parameters: tuple[str, ...]
    device_ids: tuple[str, ...]
    prefix: str
    log: Mapping[str, str]


def names_in(source: Mapping[str, bytes], series: Series) -> Names:
    """What the driver's files call things."""
    sysfs, start = (_text(source, series, f"common/{name}.c") for name in ("sysfs", "habanalabs_drv"))
    shown = {found[1]: _forms(found[0]) for found in _SHOW.finditer(sysfs)}
    return Names(
        {**dict.fromkeys(_WRITE_ONLY.findall(sysfs), ()), **shown},
        # The attribute shows it with a capital.
        tuple(sorted({_unquoted(word).capitalize() for word in _STATUS.findall(start)})),
        tuple(sorted({_unquoted(word) for word in _TYPE.findall(sysfs)})),
        tuple(sorted(_PARAMETER.findall(start))),
        tuple(sorted(_DEVICE_ID.findall(start))),
        "".join(_unquoted(found) for found in _PREFIX.findall(start)),
        _log(messages_in(source)),
    )


def _log(forms: frozenset[str]) -> dict[str, str]:
    return {line: form for line in LOG_LINES if (form := form_of(line, forms)) is not None}


def messages_in(source: Mapping[str, bytes]) -> frozenset[str]:
    """The forms of all lines that the driver may write into the kernel's log."""
    return frozenset(form for path, content in source.items() if path.endswith(".c") for form in _said(content))


def _said(content: bytes) -> Iterator[str]:
    for found in _SAID.finditer(content.decode()):
        yield _unquoted(found[1])


def form_of(line: str, forms: frozenset[str]) -> str | None:
    """The form by which printf may have written the line (without device and time); that with most words of several."""
    fitting = [form for form in forms if _words(form) >= _LEAST_WORDS and fits(line, form)]
    return max(fitting, key=_words, default=None)


def _words(form: str) -> int:
    """How many characters of the form are its own."""
    return len(_CONVERSION.sub("", form))


def fits(text: str, form: str) -> bool:
    """Whether printf may have written the text by this form."""
    parts = re.split(_CONVERSION, form)
    conversions = _CONVERSION.findall(form)
    pattern = re.escape(parts[0])
    for conversion, part in zip(conversions, parts[1:], strict=True):
        pattern += _written_by(conversion) + re.escape(part)
    return re.fullmatch(pattern, text) is not None


def _written_by(conversion: str) -> str:
    kind = conversion[-1]
    if kind == "x":
        digits = re.search(r"0(\d+)", conversion)
        least = int(digits[1]) if digits else 1
        return f"0x[0-9a-f]{{{least - 2},}}" if "#" in conversion else f"[0-9a-f]{{{least},}}"
    return {"%": "%", "d": r"-?\d+", "u": r"\d+"}.get(kind, r".+?")


def _text(source: Mapping[str, bytes], series: Series, path: str) -> str:
    return source[f"{series.driver}/{path}"].decode()


def _forms(function: str) -> tuple[str, ...]:
    return tuple(_unquoted(found) for found in _PRINTED.findall(function))


def _unquoted(strings: str) -> str:
    """The text of string literals that stand beside each other, without the line's end."""
    joined = "".join(part[1:-1] for part in re.findall(_STRING, strings))
    return joined.removesuffix("\\n").replace('\\"', '"').replace("\\t", "\t").replace("\\n", "\n")


def version_of(uri: str) -> str:
    """``6.12.117-1~deb12u1`` of apt's line for the package with the source."""
    found = re.search(r"/linux-source-[\d.]+_([^_]+)_all\.deb", uri)
    assert found is not None, uri
    return found[1].replace("%7e", "~")


def known() -> dict[str, dict[str, object]]:
    """Series -> what ``upstream_names.json`` has of it: ``version`` of the distribution's source, ``names``."""
    found: dict[str, dict[str, object]] = json.loads(DATA.read_text(encoding="utf-8"))
    return found


def extract() -> dict[str, dict[str, object]]:
    """The same of the sources that apt has today."""
    found = {}
    for series in SERIES.values():
        directory, uri = source_of(series)
        # As JSON has it: lists.
        names = json.loads(json.dumps(asdict(names_in(read(directory), series))))
        found[series.name] = {"version": version_of(uri), "names": names}
    return found


def names_of(found: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The same without the versions: the distribution has newer sources each month, and other names hardly ever."""
    return {series: one["names"] for series, one in found.items()}


if __name__ == "__main__":
    DATA.write_text(json.dumps(extract(), indent=2, sort_keys=True) + "\n", encoding="utf-8")
