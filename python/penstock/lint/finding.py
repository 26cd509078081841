"""The result of a rule for a pipeline."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """A finding of `Dataset.lint`.

    Attributes
    ----------
    rule : str
        Code of the rule, such as ``"PS001"``; ``python -m penstock explain PS001`` shows its page.
    stage : str
        The stage, named as in errors: ``"map(decode)"``.
    message : str
        The mistake.
    fix : str
        A suggested correction.
    """

    rule: str
    stage: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.rule} {self.stage}: {self.message}; {self.fix}"

    def _repr_html_(self) -> str:
        import html  # imported late, because it would take a tenth of the package's import time

        rule, stage, message, fix = map(html.escape, self)
        return f"<div><b>{rule}</b> <code>{stage}</code><br>{message}<br><i>{fix}</i></div>"
