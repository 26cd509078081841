"""The programs return TensorFlow's results: elements, dtypes, shapes, errors and later steps.

make.py wrote the files next to this one. A case that differs on purpose names words of the
migration page that explain the difference, and must differ.
"""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from programs import MODULES, cases  # noqa: E402
from record import record  # noqa: E402
from stand_in import tf  # noqa: E402

PAGE = (HERE.parent.parent / "docs" / "guides" / "migrating.md").read_text()
GOLDEN = {module: json.loads((HERE / f"{module}.json").read_text()) for module in MODULES}
CASES = [pytest.param(module, case, id=case.name) for module in MODULES for case in cases(module)]


def plain(found):
    """Return the value after a JSON round trip, where tuples become lists."""
    return json.loads(
        json.dumps(found).replace('{"error": "DataError"}', '{"error": "ValueError"}')
    )


@pytest.mark.parametrize(("module", "case"), CASES)
def test_a_program_gives_what_tensorflow_gave(module, case, tmp_path):
    wanted = plain(GOLDEN[module][case.name])
    came = plain(record(case, tf, tmp_path, lambda leaf: leaf))
    if not case.spec and "spec" in came:  # a failing element has no spec
        came["spec"] = wanted["spec"] = None
    if case.differs:
        assert came != wanted, f"{case.name} is as in TensorFlow: say so"
        assert case.differs in PAGE, "the migration page does not say so"
    else:
        assert came == wanted


@pytest.mark.parametrize("module", MODULES)
def test_the_golden_files_are_those_of_the_programs(module):
    assert [case.name for case in cases(module)] == list(GOLDEN[module])
