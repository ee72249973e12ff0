# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``make pictures``: the README's and the site's pictures of a real run of the demo, its terminal and a page.

``make demo | tee demo.log`` comes first. What of its output is shown lies beside the picture as text, from which a test
draws it again; the page's picture has in it the digest of the page.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from .terminal_picture import terminal_picture

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "site" / "pictures"
TEXT, TERMINAL, PAGE, SOURCE = (
    PICTURES / name for name in ("terminal.txt", "terminal.svg", "training_page.png", "training_page.json")
)
TITLE = "make demo: two simulated nodes"
BANNER = "From make demo: two simulated nodes with eight simulated cards each; the training ran on their processors."
MOST_BYTES = 200_000
MOST_COLUMNS = 125
_ENDING = ("PLAY", "node1", "node2", "The")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_WIDTH, _HEIGHT = 1180, 1075
_PNG, _KEY = b"\x89PNG\r\n\x1a\n", b"Source"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts.pictures", description="Pictures of a run of the demo.")
    parser.add_argument("log", type=Path, help="what make demo has printed")
    parser.add_argument("--reports", type=Path, default=ROOT / "gaudi3_scale_reports", help="where it left its pages")
    given = parser.parse_args(arguments)
    page = given.reports / "training-demo.html"
    lacks = _lacks(given.log, page)
    if lacks:
        sys.stderr.write(f"{lacks}\n")
        return 1
    PICTURES.mkdir(exist_ok=True)
    lines = shown_lines(given.log.read_text(encoding="utf-8").splitlines())
    TEXT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    TERMINAL.write_text(terminal_picture(TITLE, lines), encoding="utf-8")
    digest = hashlib.sha256(page.read_bytes()).hexdigest()
    PAGE.write_bytes(with_source(photograph(with_banner(page.read_text(encoding="utf-8"))), digest))
    SOURCE.write_text(json.dumps({"page": page.name, "sha256": digest}, indent=2) + "\n", encoding="utf-8")
    for path in (TERMINAL, PAGE):
        sys.stdout.write(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes\n")
    return 0


def _lacks(log: Path, page: Path) -> str:
    """What is missing, and where it comes from; empty where everything is there."""
    for path in (log, page):
        if not path.is_file():
            return f"There is no {path}; run `make demo | tee demo.log` first, and name that file."
    if not _browser():
        return f"There is no browser to draw the page ({', '.join(BROWSERS)}); on Debian, apt install chromium."
    return ""


def shown_lines(log: Iterable[str]) -> list[str]:
    """What of the demo's output a picture has room for, as it was printed; ``…`` stands for what is left out."""
    lines = [_ESCAPES.sub("", line).rstrip() for line in log]
    fit = [line for line in lines if len(line) <= MOST_COLUMNS]
    steps = [line for line in fit[: _place(fit, "The job succeeded")] if re.match(r"\s*step \d", line)]
    parts = [
        _table(fit, "Network benchmark"),
        [fit[_place(fit, "Batch size ")]],
        [*steps[:3], "…", *steps[-2:], fit[_place(fit, "The job succeeded")]],
        [line for line in fit[_place(fit, "PLAY RECAP") :] if line and line.split()[0] in _ENDING],
    ]
    return ["$ make demo", *(line for part in parts for line in ("…", *part))]


def _place(lines: Sequence[str], beginning: str) -> int:
    """Where the first line begins so; raises StopIteration where none does: this is no log of the demo."""
    return next(number for number, line in enumerate(lines) if line.strip().startswith(beginning))


def _table(lines: Sequence[str], title: str) -> Sequence[str]:
    """A table from its title to the last of the notes below it."""
    first = _place(lines, title)
    return lines[first : first + list(lines[first:]).index("")]


def with_banner(page: str) -> str:
    """The page with a line that says what it is of: by itself a picture would be taken for one of servers."""
    style = "margin: 0 0 1.4rem; padding: .5rem .9rem; border: 1px solid #b4bec8; border-radius: 6px"
    return page.replace("<body>", f'<body><p style="{style}">{BANNER}</p>', 1)


def photograph(page: str) -> bytes:
    """The upper part of an HTML page, as a browser shows it in daylight."""
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place, "page.html"), Path(place, "page.png")
        source.write_text(page, encoding="utf-8")
        command = [_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={place}/profile", f"--window-size={_WIDTH},{_HEIGHT}", f"--screenshot={target}"]
        subprocess.run([*command, source.as_uri()], check=True, capture_output=True, timeout=120)
        return target.read_bytes()


def with_source(png: bytes, digest: str) -> bytes:
    """The picture with the SHA-256 of what it shows, as a text chunk behind its header."""
    text = _KEY + b"\0" + digest.encode("ascii")
    chunk = struct.pack(">I", len(text)) + b"tEXt" + text + struct.pack(">I", zlib.crc32(b"tEXt" + text))
    header = len(_PNG) + 25
    return png[:header] + chunk + png[header:]


def source_of(png: bytes) -> str:
    """The digest that :func:`with_source` wrote; empty without one."""
    place = len(_PNG)
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        data = png[place + 8 : place + 8 + length]
        if kind == b"tEXt" and data.startswith(_KEY + b"\0"):
            return data.partition(b"\0")[2].decode("ascii")
        place += 12 + length
    return ""


def _browser() -> str:
    return next(filter(None, map(shutil.which, BROWSERS)), "")


if __name__ == "__main__":
    sys.exit(main())
