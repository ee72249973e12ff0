# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An export from beginning to end: written beside its directory, read back, compared, and only then given its name."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gaudi3_scale import __version__
from gaudi3_scale.checkpoints.files import record_of, sync
from gaudi3_scale.checkpoints.manifest import FileRecord
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.tokenizers import BYTES, FILE
from gaudi3_scale.export.answers import answers_of
from gaudi3_scale.export.architecture import Architecture
from gaudi3_scale.export.built_in import NAME, built_in
from gaudi3_scale.export.byte_tokenizer import CONFIG_FILE, byte_tokenizer
from gaudi3_scale.export.checkpoint import Checkpoint, open_checkpoint
from gaudi3_scale.export.conversion import Conversion
from gaudi3_scale.export.hugging_face import CONFIG, hugging_face, read_config, skeleton
from gaudi3_scale.export.logits import digest_of, logits_of, windows_of
from gaudi3_scale.export.matching import chosen_dtype, matched
from gaudi3_scale.export.record import files_of, read_record, require_as_recorded, write_record, write_text
from gaudi3_scale.export.safetensors_weights import open_sharded
from gaudi3_scale.export.shards import Shards, planned, write_index, write_shards
from gaudi3_scale.export.weights import name_of, same_bits
from gaudi3_scale.models.hugging_face import described

STATE = ".export.json"
"""What of an unfinished export is there already."""
TOKENIZER_FILES = (
    *(FILE, CONFIG_FILE, "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt"),
    *("tokenizer.model", "spiece.model", "chat_template.jinja", "chat_template.json", "generation_config.json"),
)
Tell = Callable[[str], None]


@dataclass(frozen=True)
class ExportOptions:
    """``model`` and ``tokenizer`` are directories of Transformers; ``dtype`` None is that of the checkpoint."""

    checkpoint: Path
    directory: Path
    model: Path | None = None
    tokenizer: Path | None = None
    dtype: torch.dtype | None = None
    prefix: str | None = None
    shard_bytes: int = 2_000_000_000


def export(options: ExportOptions, tell: Tell) -> None:
    """Raises GaudiError where anything is not as it has to be; then there is no directory."""
    checkpoint = open_checkpoint(options.checkpoint)
    if checkpoint.kind == "transformers":
        require_as_recorded(checkpoint.path)
    architecture = _architecture(options, checkpoint)
    names = matched(checkpoint.weights, architecture, options.prefix)
    weights = [full for name, full in names.items() if name not in architecture.buffers]
    dtype = chosen_dtype(checkpoint.weights, weights, options.dtype)
    conversion = Conversion(checkpoint.weights, architecture, names, dtype)
    tokenizer = _tokenizer(options, checkpoint, architecture)
    shards = planned(conversion, options.shard_bytes)
    identity = _identity(checkpoint, conversion, shards, tokenizer)
    if options.directory.exists() or options.directory.is_symlink():
        _require_same(options.directory, identity)
        tell(f"{options.directory}: exported before, and as it was then")
        return
    conversion.require_tied()
    total = sum(conversion.bytes_of(name) for name in architecture.origins)
    tell(f"{checkpoint.path} as {architecture.name}: {total} bytes of {name_of(dtype)}, {len(shards)} file(s)")
    with _unfinished(options.directory, identity) as work:
        _write(conversion, shards, tokenizer, work, identity, tell)
        windows = windows_of(architecture.config.get_text_config().vocab_size, architecture.places)
        logits = _proved(conversion, windows, work, tell)
        files = {path.name: record_of(path) for path in work.iterdir() if path.name != STATE}
        about = _about(checkpoint, conversion, tokenizer, identity, logits)
        write_record(work, {**about, "answers": answers_of(windows, logits)}, files)
        _put_in_place(work, options.directory)
    said = "" if tokenizer else "; it has no tokenizer: name a directory that has one with --tokenizer"
    tell(f"{options.directory}: complete{said}")


def _architecture(options: ExportOptions, checkpoint: Checkpoint) -> Architecture:
    trained = checkpoint.shape.get("model", "")
    if trained == NAME:
        if options.model:
            raise GaudiError(f"--model {options.model}: {checkpoint.path} is of the built-in model; leave it out.")
        return built_in(checkpoint.shape)
    own = checkpoint.path if (checkpoint.path / CONFIG).is_file() else None
    directory = options.model or checkpoint.model or own
    if directory is None:
        of = f" ({trained})" if trained else ""
        raise GaudiError(
            f"{checkpoint.path} does not say what its model is built like{of}; name the directory of the model that "
            f"was trained, with its {CONFIG}, with --model."
        )
    architecture = hugging_face(directory)
    here = described(architecture.trained())
    if trained and trained != here:
        raise GaudiError(
            f"--model {directory}: it is {here}, and {checkpoint.path} is of {trained}; name the directory that was "
            "trained."
        )
    return architecture


def _tokenizer(options: ExportOptions, checkpoint: Checkpoint, architecture: Architecture) -> dict[str, bytes]:
    """The files that are there. Raises GaudiError where they are of another tokenizer than the tokens were."""
    if checkpoint.tokenizer == BYTES and not options.tokenizer and not options.model:
        return byte_tokenizer(architecture.places)
    here = checkpoint.path if checkpoint.path.is_dir() else None
    directory = options.tokenizer or options.model or checkpoint.model or here
    if directory is None:
        return {}
    found = {name: (directory / name).read_bytes() for name in TOKENIZER_FILES if (directory / name).is_file()}
    if options.tokenizer and FILE not in found:
        raise GaudiError(f"--tokenizer {directory}: there is no {FILE}; name a directory that has one.")
    if checkpoint.tokenizer and FILE in found and hashlib.sha256(found[FILE]).hexdigest() != checkpoint.tokenizer:
        raise GaudiError(
            f"{directory / FILE} is another tokenizer than the one whose tokens {checkpoint.path} was trained on; name "
            "its directory with --tokenizer."
        )
    return found


def _identity(checkpoint: Checkpoint, conversion: Conversion, shards: Shards, tokenizer: Mapping[str, bytes]) -> str:
    """Equal where an export would write the same files."""
    parts = [
        __version__,
        checkpoint.identity,
        conversion.architecture.name,
        conversion.architecture.config.to_json_string(),
        name_of(conversion.dtype),
        sorted(conversion.names.items()),
        {file: list(names) for file, names in shards.items()},
        {name: hashlib.sha256(content).hexdigest() for name, content in sorted(tokenizer.items())},
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _require_same(directory: Path, identity: str) -> None:
    record = read_record(directory)
    if record is None or record.get("identity") != identity:
        of = "another export" if record else "something else"
        raise GaudiError(f"{directory} is there already, and is {of}; name another directory, or move it away.")
    require_as_recorded(directory)


@contextmanager
def _unfinished(directory: Path, identity: str) -> Iterator[Path]:
    """A hidden directory beside it, this process's alone; what a killed export of the same left is kept."""
    work = directory.with_name(f".{directory.name}.export")
    try:
        work.mkdir(parents=True, exist_ok=True)
        handle = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise GaudiError(
            f"{work} cannot be made: {error.strerror}; export to a directory that this account can write."
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GaudiError(f"{directory}: another export to it runs; wait for it to finish.") from error
        if _state_of(work).get("identity") != identity:
            _empty(work)
        yield work
    except OSError as error:
        raise GaudiError(
            f"{error.filename or work}: {error.strerror}; correct that, and run the same again: it resumes."
        ) from error
    finally:
        os.close(handle)


def _state_of(work: Path) -> dict[str, Any]:
    try:
        found = json.loads((work / STATE).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _empty(work: Path) -> None:
    for entry in work.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _write(
    conversion: Conversion, shards: Shards, tokenizer: Mapping[str, bytes], work: Path, identity: str, tell: Tell
) -> None:
    try:
        kept = files_of(_state_of(work))
    except ValueError:
        kept = {}
    written: dict[str, FileRecord] = {}

    def done(file: str, record: FileRecord) -> None:
        written[file] = record
        listed = {name: {"bytes": one.bytes, "sha256": one.sha256} for name, one in {**kept, **written}.items()}
        write_text(work / STATE, json.dumps({"identity": identity, "files": listed}))
        said = "kept" if record is kept.get(file) else "written"
        tell(f"{len(written)} of {len(shards)}: {file}, {record.bytes} bytes, {said}")

    write_shards(conversion, shards, work, kept, done)
    write_index(conversion, shards, work)
    config = conversion.architecture.config
    config.architectures = [conversion.architecture.name]
    config.dtype = name_of(conversion.dtype)
    config.save_pretrained(work)
    for name, content in tokenizer.items():
        (work / name).write_bytes(content)
    for path in [*work.iterdir()]:
        if path.name.startswith(".") and path.name != STATE:
            path.unlink()


def _proved(conversion: Conversion, windows: torch.Tensor, work: Path, tell: Tell) -> torch.Tensor:
    """The logits, once what was written is read back: the same names, the same bits, the same logits."""
    architecture = conversion.architecture
    written = open_sharded(work)
    differ = sorted({*written.tensors} ^ {*architecture.origins})
    if differ:
        raise GaudiError(f"{work}: {differ[0]} is not both in the model and in its files; export it again.")
    for name in architecture.origins:
        if not same_bits(written.one(name), conversion.exported([name])[name]):
            raise GaudiError(
                f"{work}: {name} was read back with other bits than were written; check that disk, and export it again."
            )
    tell(f"{len(architecture.origins)} weights read back, equal bit for bit")
    exported = skeleton(work, read_config(work))
    tied = architecture.tied

    def as_trained(name: str) -> torch.Tensor:
        tensor = conversion.trained(tied.get(name, name))
        # Laid out as in the exported model, for whom the same multiplication is then done in the same order.
        return tensor.t().contiguous().t() if name in turned else tensor

    turned = {origin.name for origin in architecture.origins.values() if origin.transposed}
    first = logits_of(architecture.trained(), as_trained, windows, conversion.dtype, "the trained model")
    second = logits_of(
        exported, lambda name: written.one(tied.get(name, name)), windows, conversion.dtype, "the exported model"
    )
    if not same_bits(first, second):
        most = (first.float() - second.float()).abs().max().item()
        raise GaudiError(
            f"the exported model is another than the trained one: its logits differ by up to {most:.3g}; nothing was "
            "published."
        )
    tell(f"logits of {windows.shape[0]} windows of {windows.shape[1]} tokens: equal bit for bit")
    return second


def _about(
    checkpoint: Checkpoint, conversion: Conversion, tokenizer: Mapping[str, bytes], identity: str, logits: torch.Tensor
) -> dict[str, Any]:
    return {
        "identity": identity,
        "release": __version__,
        "checkpoint": {
            "path": str(checkpoint.path.absolute()),
            "kind": checkpoint.kind,
            "step": checkpoint.step,
            "identity": checkpoint.identity,
            "model": checkpoint.shape,
        },
        "architecture": conversion.architecture.name,
        "dtype": name_of(conversion.dtype),
        "tokenizer": hashlib.sha256(tokenizer[FILE]).hexdigest() if FILE in tokenizer else None,
        "weights": len(conversion.architecture.origins),
        "logits": {"shape": list(logits.shape), "dtype": name_of(logits.dtype), "sha256": digest_of(logits)},
    }


def _put_in_place(work: Path, directory: Path) -> None:
    (work / STATE).unlink()
    for path in [*work.iterdir(), work]:
        sync(path)
    try:
        work.rename(directory)
    except OSError as error:
        raise GaudiError(f"{directory} has come to be there meanwhile; move it away, and export again.") from error
    sync(directory.parent)
