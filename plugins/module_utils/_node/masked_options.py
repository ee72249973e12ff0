# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A module whose options may hold secrets that ``no_log`` cannot name: free dictionaries, and users in URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, NoReturn

from .module_failure import module_failure
from .module_options import unreadable
from .pages import SEE, page_about, see_also
from .secret_words import HIDDEN, is_secret, without_secrets

if TYPE_CHECKING:

    class _Module:
        """What is called here of AnsibleModule, which the core does not import."""

        _name: str

        def _log_invocation(self) -> None:
            """Ansible's own line in the node's log, with the options."""

        def exit_json(self, **result: Any) -> NoReturn:
            """End with this result."""
            raise NotImplementedError

        def fail_json(self, msg: str, **result: Any) -> NoReturn:
            """End with this failure."""
            raise NotImplementedError

else:
    _Module = object


class MaskedOptions(_Module):
    """Stands before AnsibleModule among the bases of a module's class.

    Ansible returns a task's options as ``invocation``, shows them with -vvv, and AWX keeps them; also those of a task
    that it refuses itself, before the module's own code runs: for one misspelt suboption.
    """

    params: dict[str, Any]
    argument_spec: Mapping[str, Mapping[str, Any]]

    def __init__(self, *given: Any, **declared: Any) -> None:
        try:
            super().__init__(*given, **declared)
        except Exception as error:
            if not hasattr(self, "params"):
                # No option was read yet: it is no word of the task.
                raise
            # As with half of a surrogate pair, 400 digits for a float, and a number in the place of suboptions.
            self.fail_json(**module_failure(unreadable(self.params, self.argument_spec, error)))

    def _log_invocation(self) -> None:
        """AnsibleModule also writes a task's options to the node's journal, before the module's own code runs."""
        given, self.params = self.params, _in_a_log(shown_options(self.params, self.argument_spec))
        super()._log_invocation()
        self.params = given

    def exit_json(self, **result: Any) -> NoReturn:
        self.params = shown_options(self.params, self.argument_spec)
        super().exit_json(**result)

    def fail_json(self, msg: str, **result: Any) -> NoReturn:
        self.params = shown_options(self.params, self.argument_spec)
        super().fail_json(msg=msg, **{**result, SEE: self._see()})

    def _see(self) -> str:
        """Where more is written. A task may name the module without its collection."""
        return see_also(page_about("", f"gaudi3.scale.{self._name.rpartition('.')[2]}"))


def shown_options(given: Mapping[str, Any], argument_spec: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A task's options as they may be shown. A declared one says itself whether it is no_log, a misspelt one cannot."""
    return {name: _shown(name, value, argument_spec) for name, value in given.items()}


def _in_a_log(options: Mapping[str, Any]) -> dict[str, Any]:
    """syslog of Python 3.12 and newer takes no NUL, and Ansible would fail with a sentence about its log."""
    return {name: value.replace("\0", "\\0") if isinstance(value, str) else value for name, value in options.items()}


def _shown(name: str, value: Any, argument_spec: Mapping[str, Mapping[str, Any]]) -> Any:
    declared = argument_spec.get(name)
    if declared is None:
        return without_secrets(value, name)
    is_free = declared.get("type") == "dict" and "options" not in declared
    # A dictionary may be given as the text "a=1, b=2".
    if is_free and isinstance(value, str):
        return HIDDEN
    # Of a text the declaration has said it; of variables and commands each name does.
    return without_secrets(value, name if isinstance(value, (dict, list)) and not is_secret(name) else "")
