"""Every example runs: the Python blocks of README.md and docs/, and the docstrings of penstock."""

import doctest
import importlib
import pkgutil
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import penstock as ps

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = ["penstock"] + [
    module.name
    for module in pkgutil.walk_packages(ps.__path__, "penstock.")
    if module.name.rpartition(".")[2] not in {"__main__", "_core"}
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,})(?P<language>\w*)")
# The line before a block that cannot run here.
NOT_RUN = re.compile(r" *<!-- not run: .+ -->")


class Block(NamedTuple):
    """A fenced block of Python in a page; its code begins after line `line`."""

    line: int
    code: str


def python_blocks(text):
    """Yield the Python blocks of a page, but not those marked ``<!-- not run: reason -->``."""
    lines = text.splitlines()
    opening = None
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if opening is None and fence:
            opening, start = fence, number
        elif opening is not None and line.strip() == opening["fence"]:
            if opening["language"] in {"python", "pycon"} and not (
                start > 1 and NOT_RUN.fullmatch(lines[start - 2])
            ):
                yield Block(start, textwrap.dedent("\n".join(lines[start : number - 1])) + "\n")
            opening = None


def run_examples(test):
    """Run one doctest; a failure shows the example, what it should print, and what it printed."""
    report = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
    if report:
        pytest.fail("".join(report), pytrace=False)


def run_page(text, filename):
    """Run the blocks of a page in order, in one namespace, as a reader would type them."""
    names = {"__name__": "__main__"}
    for line, code in python_blocks(text):
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, {}, filename, filename, line)
            test.globs = names
            run_examples(test)
        else:
            exec(compile("\n" * line + code, filename, "exec"), names)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_the_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(), str(page))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder().find(module, extraglobs={"ps": ps, "np": np}):
        run_examples(test)


PAGE = """
```python
x = 3
```

```python
>>> x + 1
{answer}
```
<!-- not run: needs a cluster -->
```python
raise SystemError
```
```bash
rm -r everything
```
"""


def test_blocks_share_names_and_only_marked_ones_are_left_out():
    run_page(PAGE.format(answer=4), "page")


def test_a_wrong_answer_in_a_page_fails_and_names_its_line():
    with pytest.raises(pytest.fail.Exception, match='"page", line 7'):
        run_page(PAGE.format(answer=5), "page")


def test_an_error_in_a_page_is_raised_at_its_line():
    with pytest.raises(ZeroDivisionError) as error:
        run_page("```python\nx = 1\ny = x / 0\n```\n", "page")
    assert error.traceback[-1].lineno + 1 == 3
