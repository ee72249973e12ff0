# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The one door by which every module of the collection reads its options and ends."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Callable, Collection, Mapping

from .masked_options import MaskedOptions
from .module_failure import module_failure
from .module_options import checked

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def run_module(
    ansible_module: type,
    answer: Callable[[dict[str, Any], Any], Mapping[str, Any]],
    *,
    text: Collection[str] = (),
    long: Collection[str] = (),
    empty: Collection[str] = (),
    signed: Collection[str] = (),
    forms: Mapping[str, Callable[[str, Any], None]] = _NOTHING,
    of_failure: Mapping[str, Any] = _NOTHING,
    **declared: Any,
) -> None:
    """End with what ``answer`` returns for the task's options and the module, or in a sentence, whatever it has met.

    ``ansible_module`` is Ansible's class, which the core does not import, and ``declared`` what it is made with.
    ``text`` to ``forms`` say which values can be meant (:func:`module_options.checked`). ``warnings`` of an answer are
    shown as such, and ``of_failure`` is what a failure has that does not say otherwise. What of the options may be a
    secret is not shown, also where Ansible refuses them before this has them (:class:`masked_options.MaskedOptions`).
    """
    module = type("Module", (MaskedOptions, ansible_module), {})(**declared)
    try:
        spec = module.argument_spec
        options = checked(module.params, spec, text=text, long=long, empty=empty, signed=signed, forms=forms)
        result = dict(answer(options, module))
        for sentence in result.pop("warnings", ()):
            module.warn(sentence)
        module.exit_json(**result)
    except Exception as error:
        module.fail_json(**{**of_failure, **module_failure(error)})
