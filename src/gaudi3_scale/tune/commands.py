# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Tuning with Optuna (docs/tune.md): ``python -m gaudi3_scale.tune install|credentials|work|report``.

``playbooks/tune_training.yml`` writes the study's file and starts ``work`` as a job on each node. ``install`` adds the
optional packages to this Python's environment. ``credentials`` makes the certificates by which the nodes know each
other. ``report`` writes what was found as JSON, and its figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._job.difference import description_differences
from gaudi3_scale.core._node.rendered_files import WantedFile, pending, write
from gaudi3_scale.core._node.umask import readable_by_owner
from gaudi3_scale.core._tune.study import Study, definition, study_from
from gaudi3_scale.options import ArgumentParser, positive_real
from gaudi3_scale.tune.credentials import make_credentials
from gaudi3_scale.tune.packages import install, missing_packages, require_packages
from gaudi3_scale.tune.program import check_program

if TYPE_CHECKING:
    import optuna
    from optuna.storages import BaseStorage

    from gaudi3_scale.json_lines import WriteLine

STORAGE = "GAUDI3_SCALE_TUNE_STORAGE"
# What the launcher says to this process, which is none of the trials' business.
LAUNCHER = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
LAUNCHER_PREFIXES = ("GROUP_", "ROLE_", "TORCHELASTIC_")
AGAIN_S = 2.0


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["work"]:
        from gaudi3_scale.ranks import run_rank

        run_rank("gaudi3_scale.tune", tune, words)
        return
    try:
        tune(words)
    except GaudiError as error:
        sys.exit(f"gaudi3_scale.tune: {error}")


def tune(words: Sequence[str]) -> None:
    options = _parse(words)
    {"install": _install, "credentials": _credentials, "work": _work, "report": _report}[options.action](options)


def _install(options: argparse.Namespace) -> None:
    """Prints ``installed`` where something had to be, or would have to be."""
    if not missing_packages():
        return
    if not options.check:
        install()
    sys.stdout.write("would be installed\n" if options.check else "installed\n")


def _credentials(options: argparse.Namespace) -> None:
    """Prints ``made`` where some had to be. A study that runs keeps those that it has."""
    if make_credentials(options.directory, options.address, options.seconds, options.owner):
        sys.stdout.write("made\n")


# A study's files have its environment in them, and what its nodes said.
@readable_by_owner()
def _work(options: argparse.Namespace) -> None:
    options.study = options.study.absolute()
    study, given = read_study(options.study, options.digest)
    require_packages()
    check_program(study, options.study.parent)
    import optuna

    from gaudi3_scale.json_lines import line_writer
    from gaudi3_scale.tune.storage import LOST, open_storage, serve

    for name in [name for name in os.environ if name in LAUNCHER or name.startswith(LAUNCHER_PREFIXES)]:
        del os.environ[name]
    # A job that is stopped gives its trial back on its way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    write = line_writer(os.environ.get("GAUDI3_SCALE_METRICS"))
    where = _storage(options.storage) or os.environ.get(STORAGE, "")
    os.environ.pop(STORAGE, None)
    if not where:
        raise GaudiError(f"{STORAGE} is not set; name a storage in it: a URL of Optuna's, grpc://HOST:PORT or a path.")
    # Others get in for as long as it is kept.
    _server = serve(options.study.parent / "study.db", where, options.credentials) if options.serve else None
    while True:
        try:
            found = _study_of(open_storage(where, options.credentials), study, given)
            _work_on(study, found, options, write)
            return
        except LOST as error:
            write("storage", message=f"does not answer ({type(error).__name__}); waiting for it")
            time.sleep(AGAIN_S)
        except optuna.exceptions.DuplicatedStudyError:
            # Two nodes began it at the same time; the next look finds it.
            time.sleep(AGAIN_S)


def _storage(path: Path | None) -> str:
    """What a file names, which may have a password in it; empty where there is none."""
    try:
        return path.read_text(encoding="utf-8").strip() if path else ""
    except (OSError, ValueError) as error:
        raise GaudiError(f"{path} cannot be read ({error}); run playbooks/tune_training.yml again.") from error


def _work_on(study: Study, found: optuna.Study, options: argparse.Namespace, write: WriteLine) -> None:
    from gaudi3_scale.tune.worker import Worker

    metrics = Path(os.environ.get("GAUDI3_SCALE_METRICS", "metrics.jsonl"))
    worker = Worker(study, found, options.host, options.study.parent / "trials", metrics.parent / "trials", write)
    write("start", study=study.name, node=options.host, objective=study.objective, trials=study.trials)
    gave_up = worker.work()
    if options.serve:
        worker.wait_for_others()
    # The keeper's worker group succeeds with the study; that its own trials broke is told in the report.
    if gave_up and not (options.serve and worker.has_its_trials()):
        raise GaudiError(f"{gave_up.rstrip('.')}. Look at {metrics.parent / 'trials'}, then run the playbook again.")


def _study_of(storage: BaseStorage, study: Study, given: Mapping[str, Any]) -> optuna.Study:
    """The study in the storage, begun where it is not there; raises GaudiError where it was begun as another one."""
    import optuna

    pruners = {
        "median": optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2),
        "hyperband": optuna.pruners.HyperbandPruner(min_resource=1, max_resource=10, reduction_factor=3),
        "none": optuna.pruners.NopPruner(),
    }
    found = optuna.create_study(
        storage=storage,
        study_name=study.name,
        direction="minimize" if study.objective == "loss" else "maximize",
        # Nodes that work at the same time are told apart from each other's running trials.
        sampler=optuna.samplers.TPESampler(constant_liar=True),
        pruner=pruners[study.pruner],
        load_if_exists=True,
    )
    wanted = json.loads(json.dumps(definition(given)))
    begun = found.user_attrs.get("definition")
    if begun is None:
        found.set_user_attr("definition", wanted)
    elif begun != wanted:
        changed = "; ".join(description_differences(begun, wanted))
        raise GaudiError(
            f"Study {study.name} was started with other settings: {changed}; restore them, or choose another "
            "gaudi_tune_name."
        )
    return found


@readable_by_owner()
def _report(options: argparse.Namespace) -> None:
    """Prints ``written`` where a file had to be."""
    options.study = options.study.absolute()
    study, _given = read_study(options.study)
    require_packages()
    import optuna

    from gaudi3_scale.tune.figures import figures_page
    from gaudi3_scale.tune.report import report
    from gaudi3_scale.tune.storage import file_url, open_storage

    path = options.study.parent / "study.db"
    named = _storage(options.storage) or os.environ.get(STORAGE, "")
    where = named or file_url(path)
    if not named and not path.exists():
        raise GaudiError(f"There is no study in {path}; run playbooks/tune_training.yml first.")
    try:
        found = optuna.load_study(study_name=study.name, storage=open_storage(where))
    except KeyError as error:
        raise GaudiError(f"Study {study.name} has no trial yet; run playbooks/tune_training.yml.") from error
    reported = report(study, found, json.loads(options.absent))
    wanted = [
        WantedFile(str(options.study.parent / "figures.html"), figures_page(study, found), 0o600),
        WantedFile(str(options.study.parent / "report.json"), json.dumps(reported, indent=2) + "\n", 0o600),
    ]
    changes = pending(wanted)
    for change in changes:
        write(change)
    sys.stdout.write("written\n" if changes else "")


def read_study(path: Path, digest: str | None = None) -> tuple[Study, dict[str, Any]]:
    """The study in a file, and the file's own values. Raises GaudiError where it is not the one that was meant."""
    try:
        text = path.read_text(encoding="utf-8")
        given = json.loads(text)
    except (OSError, ValueError) as error:
        raise GaudiError(
            f"{path} cannot be read as a study ({error}); run playbooks/tune_training.yml again."
        ) from error
    if digest and digest != hashlib.sha256(text.encode()).hexdigest()[: len(digest)]:
        raise GaudiError(f"{path} was changed since the job was described; run playbooks/tune_training.yml again.")
    return study_from(given), given


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = ArgumentParser(prog="gaudi3_scale.tune", description="Tune a training with Optuna.")
    actions = parser.add_subparsers(dest="action", required=True)
    install = actions.add_parser("install", help="add the optional packages to this environment")
    install.add_argument("--check", action="store_true", help="only say whether something is missing")
    credentials = actions.add_parser("credentials", help="make the certificates of a study's nodes, where it has none")
    credentials.add_argument("--directory", type=Path, required=True, help="where they go")
    credentials.add_argument("--address", required=True, help="by which the other nodes reach this one")
    credentials.add_argument("--seconds", type=positive_real, required=True, help="the longest that the study can take")
    credentials.add_argument("--owner", help="the only account that may read them (default: this one)")
    work = actions.add_parser("work", help="work on a study until it has its trials")
    work.add_argument("--study", type=Path, required=True, help="the study's file")
    work.add_argument("--digest", help="beginning of the file's SHA-256")
    work.add_argument("--host", required=True, help="this node's name")
    work.add_argument("--serve", action="store_true", help="keep the study here, and let the other nodes reach it")
    work.add_argument("--credentials", type=Path, help="directory of the study's certificates")
    report = actions.add_parser("report", help="write the figures and the JSON beside the study's file")
    report.add_argument("--study", type=Path, required=True, help="the study's file")
    for action in (work, report):
        action.add_argument("--storage", type=Path, help=f"a file that names the storage, instead of {STORAGE}")
    report.add_argument("--absent", default="{}", help="JSON: nodes that did not work, each with the reason")
    return parser.parse_args(words)
