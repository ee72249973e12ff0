# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""MLflow's tracking server as far as curves need it. The variables are those that MLflow reads."""

from __future__ import annotations

from typing import Any, Mapping, Sequence
from urllib.parse import quote

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._model.mlflow_rest import TIMEOUT_S, MlflowRest, ServerDownError, ServerRefusedError, is_server

URI, EXPERIMENT = "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"
SECRETS = ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD")
DEFAULT_EXPERIMENT = "gaudi3_scale"
# What log-batch takes at once.
MOST_VALUES = 1000
# Of which a run is found again whose creation was answered to nobody.
SPOOL_TAG = "gaudi3_scale.spool"


def uri_fault(environment: Mapping[str, str]) -> str | None:
    """Why no server can be used, as the rest of a sentence."""
    uri = environment.get(URI, "")
    if not uri:
        return f"{URI} is not set; set it for the job (gaudi_training_environment) to the URL of a tracking server."
    if not is_server(uri):
        return f"{URI} is not the URL of a tracking server (http:// or https://); correct it."
    return None


class MlflowServer:
    """One tracking server. Methods raise ServerDownError or ServerRefusedError."""

    def __init__(self, environment: Mapping[str, str], timeout: float = TIMEOUT_S) -> None:
        self._experiment = environment.get(EXPERIMENT) or DEFAULT_EXPERIMENT
        self._call = MlflowRest(environment[URI], environment, timeout).call

    def run_of(self, spool: str, job: str, began_ms: int) -> str:
        """The id of the run with these points, which is made where it is not there yet."""
        experiment = self._experiment_id()
        found = self._runs_of(spool, experiment)
        if found:
            return found[0]
        tags = {SPOOL_TAG: spool, "gaudi3_scale.job": job, "mlflow.source.name": "gaudi3_scale.train"}
        made = self._call(
            "runs/create",
            {
                "experiment_id": experiment,
                "run_name": job,
                "start_time": began_ms,
                "tags": [{"key": key, "value": value} for key, value in tags.items()],
            },
        )
        return str(made["run"]["info"]["run_id"])

    def log(self, run: str, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Of key, value, timestamp (ms) and step; the same once more changes nothing, since all four are its key."""
        for start in range(0, len(metrics), MOST_VALUES):
            self._call("runs/log-batch", {"run_id": run, "metrics": list(metrics[start : start + MOST_VALUES])})

    def end(self, run: str, spool: str, status: str, ended_ms: int) -> None:
        """FINISHED, FAILED or KILLED; and no other run of the same points is left.

        A server that was stopped, not killed, makes what it was asked for when it goes on: a run whose creation had
        gone unanswered, beside the one that was asked for again. Only one of them ever gets points.
        """
        for other in self._runs_of(spool, self._experiment_id()):
            if other != run:
                self._call("runs/delete", {"run_id": other})
        self._call("runs/update", {"run_id": run, "status": status, "end_time": ended_ms})

    def _runs_of(self, spool: str, experiment: str) -> list[str]:
        wanted = {"experiment_ids": [experiment], "filter": f"tags.`{SPOOL_TAG}` = '{spool}'", "max_results": 10}
        return [str(run["info"]["run_id"]) for run in self._call("runs/search", wanted).get("runs") or []]

    def _experiment_id(self) -> str:
        query = quote(self._experiment, safe="")
        try:
            found = self._call(f"experiments/get-by-name?experiment_name={query}", None)
            return str(found["experiment"]["experiment_id"])
        except ServerRefusedError as error:
            if "RESOURCE_DOES_NOT_EXIST" not in str(error):
                raise
        try:
            return str(self._call("experiments/create", {"name": self._experiment})["experiment_id"])
        except ServerRefusedError as error:
            if "RESOURCE_ALREADY_EXISTS" in str(error):
                # Another job's was faster.
                raise ServerDownError(str(error)) from error
            raise


def server_of(environment: Mapping[str, str]) -> MlflowServer:
    """The server of the environment. GaudiError where it names none, or a file with certificates that is not there."""
    fault = uri_fault(environment)
    if fault:
        raise GaudiError(fault)
    try:
        return MlflowServer(environment)
    except OSError as error:
        raise GaudiError(f"MLFLOW_TRACKING_SERVER_CERT_PATH cannot be read ({error.strerror or error}).") from error
