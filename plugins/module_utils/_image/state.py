# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An image of a project's code on the vendor's PyTorch: made once for the same inputs, tested, and only then pushed."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Mapping, Sequence

from .._bundle.bundle_site import Site
from .._containers.container_start import COUNT_ON_NODE, addresses
from .._containers.image_reference import Reference, tls_words
from .._errors import GaudiError
from .._node.commands import Run, last_line
from .._node.downloads import resume
from .._node.lock import exclusive
from .._node.rendered_files import read_text
from .._node.umask import readable_by_all
from .._releases.lookup import Release, find_release
from .._venv.private_files import write_private
from . import build_log, containerfile, packages, proof, signature
from .base import Base, parse_reference, wanted_base
from .code_tree import CodeFile, code_digest, code_files, copy_code, program_refusal
from .engine import Engine, Image, find_engine
from .options import ImageOptions, check
from .package_sources import bundle_of, source_files
from .record import BUILD, PROVE, PUSH, SIGN, ImageRecord, due, read_record, signed_reference, write_record
from .requirements_file import check_requirements
from .sbom import render_sbom

# No file of a zip archive, which wheels are, is older; a wheel that is built in the image would fail.
_OLDEST = 315_532_800
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Wanted:
    """What is asked for, checked: all that is known without the base image."""

    options: ImageOptions
    release: Release
    base: Base
    files: Sequence[CodeFile]
    requirements: str
    inputs: str
    push: Reference | None
    site: Site | None = None

    @property
    def image(self) -> str:
        """The image's name on the build host."""
        return f"localhost/gaudi3_scale/{self.options.name}:{self.short}"

    @property
    def short(self) -> str:
        return self.inputs.partition(":")[2][:12]

    @property
    def repository(self) -> str:
        return self.push.name if self.push else ""

    def place(self, ending: str) -> str:
        """A file of this image on the build host."""
        return f"{self.options.directory}/{self.options.name}{ending}"


def converge(options: ImageOptions, run: Run, check_mode: bool) -> dict[str, object]:
    """Make the image, or what of it is missing; the result's keys are always the same."""
    wanted = plan(options, lambda: bundle_of(options, run))
    engine = find_engine(run)
    if check_mode:
        return _answer(
            wanted, read_record(wanted.place(".json")), _due(wanted, engine), build_log.Steps(), foreseen=True
        )
    remedy = "wait for it to finish"
    # Its record, its scratch files and the one container of its test are one run's.
    with readable_by_all(), exclusive("image", 1.0, directory=options.directory, remedy=remedy):
        steps, counts = _due(wanted, engine), build_log.Steps()
        if PROVE in steps:
            proof.refuse_device(options.device, engine.program, bool(_cards(run) if options.device == "hpu" else ()))
        record = read_record(wanted.place(".json"))
        if BUILD in steps or record is None:
            record, counts = _build(wanted, engine)
        record = _finish(wanted, engine, record, steps, run)
        return _answer(wanted, record, steps, counts, foreseen=False)


def plan(options: ImageOptions, bundle: Callable[[], Site | None] = lambda: None) -> Wanted:
    """Check what is asked for, and read code and requirements; of the bundle, its signed manifest alone is fetched."""
    check(options)
    release = find_release(options.release, options.release_overrides)
    push = _push_target(options)
    site = bundle()
    base = wanted_base(options, release, site)
    files = code_files(options.code, options.excluded)
    refusal = program_refusal(options.command, files)
    if refusal:
        raise GaudiError(refusal, option="command")
    requirements = _requirements(options)
    inputs = _inputs(options, release, base, files, requirements)
    return Wanted(options, release, base, files, requirements, inputs, push, site)


def _push_target(options: ImageOptions) -> Reference | None:
    if not options.push:
        return None
    target = parse_reference(options.push, "push (gaudi_image_push)")
    if target.tag or target.digest:
        raise GaudiError(
            f"push (gaudi_image_push) is {options.push!r:.120}; give the repository without a tag, which the image "
            "gets from its release and inputs.",
            option="push",
        )
    return target


def _requirements(options: ImageOptions) -> str:
    if not options.requirements:
        return ""
    path = Path(options.code, options.requirements)
    text = read_text(str(path))
    if text is None:
        raise GaudiError(
            f"requirements (gaudi_image_requirements) is {options.requirements}, which {options.code} does not have; "
            "add the file, or set the option to '' for no Python packages.",
            option="requirements",
        )
    check_requirements(text, options.requirements)
    return text


def _inputs(options: ImageOptions, release: Release, base: Base, files: Sequence[CodeFile], requirements: str) -> str:
    """One digest over all that the image is made from; where packages come from is none of it."""
    recipe = _recipe(options, base.image, 0, {}, bool(requirements))
    parts = {
        "base": base.digest,
        "release": release.package_version,
        "recipe": containerfile.render(recipe),
        "requirements": requirements,
        "code": code_digest(options.code, files),
    }
    return "sha256:" + hashlib.sha256(json.dumps(parts, sort_keys=True).encode(errors="surrogateescape")).hexdigest()


def _recipe(
    options: ImageOptions, base: str, epoch: int, labels: Mapping[str, str], requirements: bool, uses_apt: bool = True
) -> containerfile.Recipe:
    return containerfile.Recipe(
        base,
        epoch,
        labels,
        uses_apt=uses_apt,
        os_packages=options.os_packages,
        requirements=requirements,
        environment=options.environment,
        build_arguments=options.build_arguments,
        user=options.container_user,
        command=options.command,
    )


def _due(wanted: Wanted, engine: Engine) -> tuple[str, ...]:
    options = wanted.options
    found = engine.inspect(wanted.image)
    record = read_record(wanted.place(".json"))
    signs = bool(options.signing_key)
    there = found.id if found else ""
    return due(record, wanted.inputs, there, options.device, wanted.repository, signs, options.rebuild)


def _cards(run: Run) -> frozenset[str]:
    return addresses(run(COUNT_ON_NODE, timeout=90).stdout)


def _build(wanted: Wanted, engine: Engine) -> tuple[ImageRecord, build_log.Steps]:
    """Build it and look at what it has; an image with another PyTorch is removed again."""
    options = wanted.options
    base = _have_base(wanted, engine)
    before = _contents(engine, base.id)
    packages.refuse_unfit_base(before, wanted.base.name, wanted.release)
    epoch = max(base.created, _OLDEST)
    labels = labels_of(wanted, before, epoch)
    uses_apt = all(package.kind != "rpm" for package in before.packages)
    recipe = replace(
        _recipe(options, wanted.base.image, epoch, labels, bool(wanted.requirements), uses_apt),
        base_is_roots=base.is_roots,
    )
    sources = source_files(options, wanted.site, before.system.get("VERSION_CODENAME", ""))
    work = _write_context(wanted, recipe, packages.constraints(before), sources)
    counts = _run_build(wanted, engine, work, epoch)
    image = engine.inspect(wanted.image)
    if image is None:
        raise GaudiError(f"{engine.program} built {wanted.image} and does not have it; see {wanted.place('.log')}.")
    after = _contents(engine, image.id)
    try:
        packages.refuse_changes(before, after)
    except GaudiError:
        engine.remove(wanted.image)
        raise
    text = render_sbom(options.name, image.id, after, epoch)
    Path(wanted.place(".spdx.json")).write_text(text, encoding="ascii")
    record = ImageRecord(
        inputs=wanted.inputs,
        image=wanted.image,
        image_id=image.id,
        digest=image.digest,
        base=wanted.base.name,
        release=wanted.release.package_version,
        torch=after.torch,
        layers=image.layers,
        own_layers=image.layers - base.layers,
        packages=len(after.packages),
        epoch=epoch,
        sbom_sha256=hashlib.sha256(text.encode()).hexdigest(),
    )
    write_record(wanted.place(".json"), record)
    return record, counts


def _contents(engine: Engine, image: str) -> packages.Contents:
    """What is installed in an image of this host."""
    with engine.mounted(image) as root:
        found, has_rpms = packages.read_contents(root), packages.has_rpms(root)
    if not has_rpms:
        return found
    done = engine.start(image, "rpm", packages.RPM_QUERY)
    if done.rc:
        raise GaudiError(f"rpm in the image {image} does not say what is installed: {last_line(done.stderr)}.")
    return packages.with_rpms(found, done.stdout)


def _have_base(wanted: Wanted, engine: Engine) -> Image:
    """The base image on this host, fetched where it is not there; by its digest it cannot be another one."""
    base = wanted.base
    found = engine.inspect(base.image)
    if found is None:
        if base.url:
            resume(base.url, base.file, "The base image", "base_image", base.digest)
        fetched = engine.pull(base.source, base.registry, _registry_words(wanted.options, base.registry))
        if not base.registry:
            engine.tag(fetched, base.image)
        if base.url:
            Path(base.file).unlink()
        found = engine.inspect(base.image)
    if found is None:
        raise GaudiError(f"{engine.program} fetched {base.source} and does not have {base.image}; see its storage.")
    here = _ARCHITECTURES.get(platform.machine(), platform.machine())
    if found.architecture and found.architecture != here:
        raise GaudiError(
            f"The base image {base.name} is for {found.architecture}, and this host is {here}; build on a host of the "
            "nodes' architecture, or take the image for it.",
            option="base_image",
        )
    return found


def _registry_words(options: ImageOptions, registry: str) -> list[str]:
    if not registry:
        return []
    words = ["--authfile", options.authfile] if options.authfile else []
    return [*words, *tls_words(registry, options.plain_http_hosts)]


def labels_of(wanted: Wanted, before: packages.Contents, epoch: int) -> dict[str, str]:
    """What the image says of itself. Those of jobs are read by whoever starts one in it."""
    days = packages.day_of(epoch)
    return {
        "org.opencontainers.image.base.digest": wanted.base.digest,
        "org.opencontainers.image.base.name": wanted.base.name.partition("@")[0],
        "org.opencontainers.image.created": days,
        "org.opencontainers.image.title": wanted.options.name,
        "org.opencontainers.image.version": wanted.short,
        "scale.gaudi3.inputs": wanted.inputs,
        "scale.gaudi3.release": wanted.release.package_version,
        "scale.gaudi3.torch": before.torch,
    }


def _write_context(wanted: Wanted, recipe: containerfile.Recipe, constraints: str, sources: Mapping[str, str]) -> Path:
    """The directory of the build: its file, its context, and the secrets beside it."""
    work = Path(wanted.place(".work"))
    context = work / "context"
    context.mkdir(parents=True, exist_ok=True)
    copy_code(wanted.options.code, wanted.files, context / containerfile.CODE)
    texts = {
        context / containerfile.REQUIREMENTS: wanted.requirements,
        context / containerfile.CONSTRAINTS: constraints,
        work / "Containerfile": containerfile.render(recipe),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    for name, text in sources.items():
        write_private(work / name, text.splitlines())
    return work


def _run_build(wanted: Wanted, engine: Engine, work: Path, epoch: int) -> build_log.Steps:
    log, options = Path(wanted.place(".log")), wanted.options
    log.unlink(missing_ok=True)
    secrets = [word for name in containerfile.SECRETS for word in ("--secret", f"id={name},src={work / name}")]
    words = [
        *("--layers", "--format", "oci", "--identity-label=false", "--timestamp", str(epoch)),
        # Indexes and registries of a site are often names of its own, or on this very host.
        *("--network", "host", "--logfile", str(log), "--tag", wanted.image, *secrets),
        *(["--no-cache"] if options.rebuild else []),
        *("--file", str(work / "Containerfile"), str(work / "context")),
    ]
    done = engine.build(words, options.timeout)
    for name in containerfile.SECRETS:
        (work / name).unlink(missing_ok=True)
    said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if done.rc == 124:
        raise GaudiError(
            f"The build of {options.name} did not finish within {options.timeout} s; see {log}, and raise timeout.",
            log=str(log),
        )
    if done.rc:
        raise GaudiError(build_log.failure(said, done.stderr, str(log)), log=str(log), rc=done.rc)
    return build_log.steps(said)


def _finish(wanted: Wanted, engine: Engine, record: ImageRecord, steps: Sequence[str], run: Run) -> ImageRecord:
    """Test, push and sign; each is kept as soon as it is done, so that a run after a failure goes on there."""
    options, path = wanted.options, wanted.place(".json")
    if PROVE in steps:
        words = proof.words(options.device, engine.program)
        arguments = ["-c", proof.program(options.device)]
        result = engine.start(record.image, "python3", arguments, words, proof.TIMEOUT_S)
        record = replace(record, proof=proof.judge(options.device, record.torch, result))
        write_record(path, record)
    if PUSH in steps and wanted.push:
        target = f"{wanted.repository}:{wanted.release.package_version}-{wanted.short}"
        registry = wanted.push.host
        file = Path(wanted.place(".digest"))
        digest = engine.push(record.image, target, registry, file, _registry_words(options, registry))
        record = replace(record, pushed={**record.pushed, wanted.repository: digest})
        write_record(path, record)
    if SIGN in steps:
        record = _sign(wanted, record, run)
        write_record(path, record)
    return record


def _sign(wanted: Wanted, record: ImageRecord, run: Run) -> ImageRecord:
    options = wanted.options
    reference = signed_reference(record, wanted.repository)
    name, _at, digest = reference.partition("@")
    target = signature.place(options.directory, name, digest)
    text = signature.payload(name, digest, record.epoch, record.sbom_sha256)
    public = Path(options.directory, "signing-key.asc")
    key = signature.sign(text, target, options.signing_key, public, run)
    return replace(record, signed=reference, key=key)


def _answer(
    wanted: Wanted, record: ImageRecord | None, steps: Sequence[str], counts: build_log.Steps, *, foreseen: bool
) -> dict[str, object]:
    same = record if record and record.inputs == wanted.inputs else None
    pushed = same.pushed.get(wanted.repository, "") if same else ""
    return {
        "changed": bool(steps),
        "msg": _said(wanted, steps, foreseen),
        "steps": list(steps),
        "image": wanted.image,
        "image_id": same.image_id if same else "",
        "digest": pushed or (same.digest if same else ""),
        "pushed": f"{wanted.repository}@{pushed}" if pushed else "",
        "inputs": wanted.inputs,
        "base": wanted.base.name,
        "release": wanted.release.package_version,
        "torch": same.torch if same else "",
        "layers": same.layers if same else 0,
        "own_layers": same.own_layers if same else 0,
        "instructions": counts.total,
        "cached_instructions": counts.cached,
        "packages": same.packages if same else 0,
        "proof": dict(same.proof) if same else {},
        "sbom": wanted.place(".spdx.json") if same else "",
        "signed": same.signed if same else "",
        "signature": str(signature.place(wanted.options.directory, *same.signed.split("@")))
        if same and same.signed
        else "",
        "fingerprint": same.key if same else "",
    }


_DONE = {BUILD: "built", PROVE: "tested", PUSH: "pushed", SIGN: "signed"}


def _said(wanted: Wanted, steps: Sequence[str], foreseen: bool) -> str:
    if not steps:
        return f"Nothing to build: {wanted.image} was made from the same inputs."
    done = ", ".join(_DONE[step] for step in steps)
    return f"{wanted.image} {'would be' if foreseen else 'was'} {done}."
