"""Run checks of to_keras, named on the command line, on the backend of KERAS_BACKEND.

Each backend has a separate process, because importing one takes seconds.
"""

import faulthandler
import json
import sys
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # helpers shared by all tests

import keras_element_checks
import keras_end_checks
import keras_fit_checks
import keras_state_checks

CHECKS = (
    vars(keras_fit_checks)
    | vars(keras_element_checks)
    | vars(keras_end_checks)
    | vars(keras_state_checks)
)


def main(results_file, *names):
    results = {}
    for name in names:
        faulthandler.dump_traceback_later(240, exit=True)
        print(name, file=sys.stderr, flush=True)  # names the check that hangs or crashes
        try:
            CHECKS[f"check_{name}"]()
            results[name] = None
        except BaseException:  # includes an interrupt that arrives elsewhere
            results[name] = traceback.format_exc()
    Path(results_file).write_text(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
