"""Every example runs: the Python blocks of README.md and docs/, and penstock's docstrings.

Examples that need a training framework run in separate tests, where it is installed.
"""

import doctest
import gc
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
# Docstrings with examples that need frameworks: of a module, class or function, with all members.
FRAMEWORKS = {
    "penstock.adapters.jax": {"jax"},
    "penstock.forms.Forms.to_jax": {"jax"},
    "penstock.forms.Forms.to_keras": {"keras"},
    "penstock.forms.Forms.to_torch": {"torch"},
    "penstock.forms.Forms.to_torch_iterable": {"torch"},
    "penstock.sources.tables": {"pyarrow"},
    "penstock.stages.from_arrow.FromArrow.from_arrow": {"pyarrow"},
    "penstock.stages.from_arrow.FromArrow.from_pandas": {"pandas", "pyarrow"},
    "penstock.stages.from_arrow.FromArrow.from_polars": {"polars"},
    "penstock.stages.write.Write.write_parquet": {"pyarrow"},
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,})(?P<language>\w*)")
# The line before a block that cannot run here, or needs these modules.
NOT_RUN = re.compile(r" *<!-- not run: .+ -->")
NEEDS = re.compile(r" *<!-- needs: (?P<modules>[\w. ]+) -->")


class Block(NamedTuple):
    """A fenced Python block of a page; its code begins after line `line`."""

    line: int
    code: str
    needs: set[str]


def python_blocks(text):
    """Yield the Python blocks of a page, except those marked ``<!-- not run: reason -->``."""
    lines = text.splitlines()
    opening = None
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if opening is None and fence:
            opening, start = fence, number
        elif opening is not None and line.strip() == opening["fence"]:
            mark = lines[start - 2] if start > 1 else ""
            if opening["language"] in {"python", "pycon"} and not NOT_RUN.fullmatch(mark):
                needs = NEEDS.fullmatch(mark)
                code = textwrap.dedent("\n".join(lines[start : number - 1])) + "\n"
                yield Block(start, code, set(needs["modules"].split()) if needs else set())
            opening = None


def blocks_without_needs(text):
    return [block for block in python_blocks(text) if not block.needs]


def run_examples(test):
    """Run one doctest; a failure shows the example, its expected and its actual output."""
    report = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
    if report:
        pytest.fail("".join(report), pytrace=False)


def run_blocks(blocks, filename):
    """Run the blocks of a page in order, in one namespace, as if a reader typed them."""
    names = {"__name__": "__main__"}
    for line, code, _ in blocks:
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, {}, filename, filename, line)
            test.globs = names
            run_examples(test)
        else:
            exec(compile("\n" * line + code, filename, "exec"), names)


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_of_the_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(blocks_without_needs(page.read_text()), str(page))


def needs_of(page):
    return set().union(*(block.needs for block in python_blocks(page.read_text())))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", list(filter(needs_of, PAGES)), ids=name_of)
def test_examples_of_the_page_run_with_frameworks(page, tmp_path, monkeypatch):
    for module in sorted(needs_of(page)):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    run_blocks(python_blocks(page.read_text()), str(page))


def examples_of(module):
    found = doctest.DocTestFinder().find(
        importlib.import_module(module), extraglobs={"ps": ps, "np": np}
    )
    return [test for test in found if test.examples]


def is_in(test, owner):
    return test.name == owner or test.name.startswith(f"{owner}.")


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name == "penstock.metrics":
        gc.collect()  # it lists all live iterators
    for test in examples_of(name):
        if not any(is_in(test, owner) for owner in FRAMEWORKS):
            run_examples(test)


@pytest.mark.parametrize("owner", FRAMEWORKS)
def test_examples_of_docstrings_run_with_frameworks(owner, tmp_path, monkeypatch):
    for module in sorted(FRAMEWORKS[owner]):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    module = max((name for name in MODULES if f"{owner}.".startswith(f"{name}.")), key=len)
    found = [test for test in examples_of(module) if is_in(test, owner)]
    assert found
    for test in found:
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
<!-- needs: torch jax.numpy -->
```python
x += torch.ones(3)
```
"""


def test_blocks_share_names_and_only_marked_ones_are_left_out():
    run_blocks(blocks_without_needs(PAGE.format(answer=4)), "page")


def test_a_block_says_what_it_needs():
    needs = [block.needs for block in python_blocks(PAGE)]
    assert needs == [set(), set(), {"torch", "jax.numpy"}]


def test_a_wrong_answer_in_a_page_fails_and_names_its_line():
    with pytest.raises(pytest.fail.Exception, match='"page", line 7'):
        run_blocks(blocks_without_needs(PAGE.format(answer=5)), "page")


def test_an_error_in_a_page_is_raised_at_its_line():
    with pytest.raises(ZeroDivisionError) as error:
        run_blocks(python_blocks("```python\nx = 1\ny = x / 0\n```\n"), "page")
    assert error.traceback[-1].lineno + 1 == 3
