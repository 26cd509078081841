"""What a rule says of a pipeline."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One finding of `Dataset.lint`.

    Attributes
    ----------
    rule : str
        Its code, ``"PS001"``: ``python -m penstock explain PS001`` shows the page.
    stage : str
        The stage, as errors name it: ``"map(decode)"``.
    message : str
        What is wrong there.
    fix : str
        What to write instead.
    """

    rule: str
    stage: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.rule} {self.stage}: {self.message}; {self.fix}"

    def _repr_html_(self) -> str:
        import html  # not with the package: a tenth of its time

        rule, stage, message, fix = map(html.escape, self)
        return f"<div><b>{rule}</b> <code>{stage}</code><br>{message}<br><i>{fix}</i></div>"
