# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Points to MLflow, from a thread of their own behind a file: a server that is down costs no step, and no point.

Whoever trains appends a line to a file (spool.py), and this thread sends what is in it. At the end it gets two seconds.
What is left is sent by the job's next start, or by hand: ``python -m gaudi3_scale.metrics.mlflow_logger JOB_DIR``.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any, Mapping, Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._model.mlflow_rest import ServerDownError, ServerRefusedError, printable
from gaudi3_scale.metrics import spool
from gaudi3_scale.metrics.mlflow_server import MOST_VALUES, SECRETS, MlflowServer, server_of

DIRECTORY = "mlflow_unsent"
# Seconds that the end of a job waits for what is left, between two sends, and after a failed one at most.
PATIENCE_S, PAUSE_S, LONGEST_PAUSE_S = 2.0, 2.0, 60.0
FINISHED, FAILED = "FINISHED", "FAILED"


class MlflowLogger:
    """One run of a job. Methods return at once, ``close`` within PATIENCE_S, and none of them raises."""

    def __init__(self, job_dir: Path, job: str, server: MlflowServer, write: Any = None) -> None:
        self._server = server
        self._tell = write or _tell
        self._stop = threading.Event()
        self._given_up = False
        name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{uuid.uuid4().hex[:12]}"
        self._before = spool.earlier(job_dir / DIRECTORY)
        try:
            self._points: spool.Writer | None = spool.Writer(job_dir / DIRECTORY, name)
            self._points.append({"job": job, "time": _now_ms()})
        except OSError as error:
            self._points = None
            self._lose(error)
            return
        self._reader = spool.Reader(self._points.path)
        self._thread = threading.Thread(target=self._run, name="mlflow logger", daemon=True)
        self._thread.start()

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        """Keep them for the server: a line of a local file."""
        if self._points:
            values = {name: spool.json_number(value) for name, value in numbers.items()}
            self._append({"step": step, "time": _now_ms(), "values": values})

    def close(self, status: str = FINISHED) -> bool:
        """Send what is left, as far as that gets in PATIENCE_S; whether all of it was sent."""
        if not self._points:
            return False
        self._append({spool.END: status, "time": _now_ms()})
        if self._points:
            self._points.close()
        self._stop.set()
        self._thread.join(PATIENCE_S)
        left = self._reader.unsent() if self._reader.path.exists() else 0
        if left or self._reader.path.exists():
            kept = self._reader.path.parent
            self._tell(
                f"mlflow does not have {left} points yet; they are in {kept}, and the job's next start sends them, or "
                f"python -m gaudi3_scale.metrics.mlflow_logger {kept.parent}"
            )
        return not self._reader.path.exists()

    def _append(self, line: Mapping[str, Any]) -> None:
        try:
            if self._points:
                self._points.append(line)
        except OSError as error:
            self._points = None
            self._stop.set()
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        self._tell(f"mlflow is left out from here on: its points cannot be kept ({error.strerror or error})")

    def _run(self) -> None:
        try:
            for path in self._before:
                send_finished(path, self._server)
        except (ServerDownError, ServerRefusedError, OSError, ValueError):
            # Those of earlier runs wait for the next start once more.
            pass
        pause = PAUSE_S
        while True:
            is_last = self._stop.is_set()
            try:
                done = send(self._reader, self._server)
                pause = PAUSE_S
                if done:
                    return
            except ServerDownError:
                pause = min(LONGEST_PAUSE_S, pause * 2)
            except (ServerRefusedError, OSError, ValueError, KeyError) as error:
                self._tell(f"mlflow gets no more points in this run: {_without_secrets(str(error))}")
                return
            if is_last:
                return
            self._stop.wait(pause)


def send(points: spool.Reader, server: MlflowServer) -> bool:
    """Send all that is in a file; True, and the file is gone, where that was its run's end."""
    while True:
        piece = points.piece(MOST_VALUES)
        if not piece.lines:
            return False
        run = _run_of(points, server, piece.lines)
        server.log(run, [metric for line in piece.lines for metric in _metrics(line)])
        last = piece.lines[-1]
        if spool.END in last:
            server.end(run, points.id, last[spool.END], last["time"])
            points.set_sent(piece.end)
            points.remove()
            return True
        points.set_sent(piece.end)


def send_finished(path: Path, server: MlflowServer) -> bool:
    """Send what a run left that is over, also where it was killed; False where it is not, or somebody else sends it."""
    with spool.nobody_writes(path) as is_mine:
        if not is_mine:
            return False
        points = spool.Reader(path)
        if not send(points, server):
            server.end(_run_of(points, server, []), points.id, FAILED, int(path.stat().st_mtime * 1000))
            points.remove()
        return True


def _run_of(points: spool.Reader, server: MlflowServer, lines: Sequence[Mapping[str, Any]]) -> str:
    run = points.run()
    if not run:
        head: Mapping[str, Any] = next((line for line in lines if "job" in line), {})
        run = server.run_of(points.id, str(head.get("job", "gaudi3_scale")), int(head.get("time", _now_ms())))
        points.set_run(run)
    return run


def _metrics(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": value, "timestamp": line["time"], "step": line["step"]}
        for key, value in line.get("values", {}).items()
    ]


def _now_ms() -> int:
    return int(time.time() * 1000)


def _tell(what: str) -> None:
    sys.stderr.write(f"gaudi3_scale: {what}\n")


def _without_secrets(text: str) -> str:
    for name in SECRETS:
        text = text.replace(os.environ.get(name) or "\0", "(not shown)")
    return printable(text)


def main(arguments: Sequence[str]) -> int:
    """Send all that the runs of a job have left."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m gaudi3_scale.metrics.mlflow_logger JOB_DIR\n")
        return 2
    try:
        server = server_of(os.environ)
        paths = spool.earlier(Path(arguments[0]) / DIRECTORY)
        sent = sum(send_finished(path, server) for path in paths)
    except GaudiError as error:
        _tell(str(error))
        return 1
    except (ServerDownError, ServerRefusedError, OSError, ValueError) as error:
        _tell(f"mlflow: {_without_secrets(str(error))}; run it again when the server answers.")
        return 1
    sys.stdout.write(f"{sent} of {len(paths)} runs are sent; those that still run send their own points.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
