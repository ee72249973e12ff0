# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is to be on a node for each instance, from what was found there; all that can be refused is refused here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._node.environment_file import assignment
from .._node.rendered_files import HEADING, WantedFile, read_text
from .asking import read_key
from .buckets import are_given, buckets_for
from .cards import hbm_of
from .command import batched_tokens, engine_argv, engine_variables
from .control import Control, ServingPaths
from .engines import Engine
from .flags import KEY
from .instance import OPTION, Instance
from .options import ServingOptions
from .runtime import Runtime, check_argv, in_container
from .sizing import Size, refuse_architecture, refuse_cards, shape_of, size_of
from .source import Source
from .unit import Program, unit_text

# Its group is the engine's.
PRIVATE_MODE = 0o640


@dataclass(frozen=True)
class WantedInstance:
    """One as it is to be. ``graphs``: about how many its warm-up compiles."""

    instance: Instance
    control: Control
    source: Source
    files: tuple[WantedFile, ...]
    size: Size
    recipes: str
    graphs: int


def wanted_instance(
    instance: Instance,
    options: ServingOptions,
    engine: Engine,
    runtime: Runtime,
    source: Source,
    modules: tuple[int, ...],
    kernel_root: str,
    paths: ServingPaths,
) -> WantedInstance:
    """All of one; GaudiError for what does not fit the model or the cards."""
    place = f"{OPTION}: {instance.name}"
    size = sized(place, instance, source, hbm_of(modules, kernel_root))
    recipes = recipe_directory(paths, options.release, engine, modules, str(instance.flags.get("dtype", "")))
    control = Control(
        name=instance.name,
        address=instance.address,
        port=instance.port,
        served_name=instance.model.served_name,
        model=source.directory,
        version=source.version,
        modules=modules,
        engine=engine.version,
        unit=paths.unit,
        key_file=options.key_file,
        certificate=paths.certificate if options.certificate else "",
        runtime=runtime.name,
        dtype=str(instance.flags.get("quantization") or instance.flags.get("dtype") or ""),
        limits={"max_model_len": size.max_model_len, "max_num_seqs": size.max_num_seqs},
    )
    variables = engine_variables(instance, engine, size, modules, paths, recipes)
    program = _program(instance, options, engine, runtime, source, size, paths, recipes)
    text = "".join(f"{assignment(name, value)}\n" for name, value in variables.items())
    files = (
        WantedFile(paths.environment, f"{HEADING}.\n{text}", 0o600),
        *secret_files(options, paths),
        WantedFile(paths.unit_file, unit_text(instance, paths, program, source.directory, options.drain_timeout)),
        # Last: whoever reads it finds the rest.
        WantedFile(paths.control, control.text()),
    )
    return WantedInstance(instance, control, source, files, size, recipes, _graphs(instance, size))


def secret_files(options: ServingOptions, paths: ServingPaths) -> tuple[WantedFile, ...]:
    """The key as a variable, and copies of the certificate and its private key; those that are not used go."""
    key = f"{HEADING}.\n{assignment(KEY, read_key(options.key_file))}\n" if options.key_file else None
    certificate = read_text(options.certificate) if options.certificate else None
    private = read_text(options.certificate_key) if options.certificate else None
    return (
        WantedFile(paths.key, key, 0o600),
        WantedFile(paths.certificate, certificate, 0o644),
        WantedFile(paths.private_key, private, PRIVATE_MODE),
    )


def sized(place: str, instance: Instance, source: Source, hbm_mib: int) -> Size:
    """What fits; GaudiError for what of the model and the cards does not go together."""
    shape = shape_of(place, source.config, source.weight_bytes)
    refuse_architecture(place, shape, instance.flags)
    refuse_cards(place, shape, instance.count)
    return size_of(
        place,
        shape,
        cards=instance.count,
        hbm_mib=hbm_mib,
        max_model_len=instance.max_model_len,
        max_num_seqs=instance.max_num_seqs,
        flags=instance.flags,
        environment=instance.environment,
    )


def recipe_directory(paths: ServingPaths, release: str, engine: Engine, modules: Sequence[int], dtype: str) -> str:
    """Of one set of cards, and of what recipes depend on: what was compiled for another release is not read."""
    parts = [release, f"vllm-{engine.version}", *([dtype] if dtype else []), "modules-" + "-".join(map(str, modules))]
    return f"{paths.recipes}/{'_'.join(parts)}"


def _program(
    instance: Instance,
    options: ServingOptions,
    engine: Engine,
    runtime: Runtime,
    source: Source,
    size: Size,
    paths: ServingPaths,
    recipes: str,
) -> Program:
    tls = (paths.certificate, paths.private_key) if options.certificate else ()
    argv = engine_argv(
        instance, engine, size, source.directory, program=runtime.program, drain=options.drain_timeout, tls=tls
    )
    if runtime.image:
        own = [*instance.environment, *engine_variables(instance, engine, size, (), paths, recipes), KEY]
        argv = (*in_container(runtime, paths, (source.directory, *tls), own), *argv)
    check = check_argv(paths, source.directory, source.version)
    return Program(argv, check, (paths.key,) if options.key_file else (), bool(runtime.image), (recipes,))


def _graphs(instance: Instance, size: Size) -> int:
    if instance.skip_warm_up or are_given(instance.environment):
        return 0
    found = buckets_for(size.max_model_len, size.max_num_seqs, batched_tokens(instance.flags))
    return found.graphs(size.max_model_len)


def beside(paths: ServingPaths, name: str) -> ServingPaths:
    """The same places of another instance."""
    return ServingPaths(name, paths.control_directory, paths.state, paths.unit_directory)


def no_files(paths: ServingPaths) -> tuple[WantedFile, ...]:
    """What removes an instance."""
    own = (paths.control, paths.environment, paths.key, paths.certificate, paths.private_key)
    return tuple(WantedFile(path, None) for path in (*own, paths.unit_file))
