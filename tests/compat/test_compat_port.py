"""`python -m penstock port`, and the modules' errors for missing names."""

import json
import os
from pathlib import Path

import pytest

import penstock.compat.tf as tf
import penstock.compat.v1 as v1
from penstock import cli
from penstock.compat.port import uses_in

PROGRAM = """\
import tensorflow as tf
import tensorflow.compat.v1 as old
import tensorflow_datasets as tfds
from tensorflow import data
from tensorflow.keras import layers
ds = tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32)).frobbed()
records = data.TFRecordDataset([]).batch(2).shuffled(3)
tf.py_function(print, [], [])
old.Session
tf.compat.v1.train.AdamOptimizer
tf.image.frob
unrelated = ds.frob
"""


def found(source):
    return {(use.line, use.name): (use.there, use.advice) for use in uses_in(source)}


def test_each_name_is_there_or_missing_or_better_written_otherwise():
    uses = found(PROGRAM)
    there = {name for (_, name), (is_there, advice) in uses.items() if is_there and not advice}
    assert there == {
        *("data", "cast", "float32", "data.Dataset.range", "data.Dataset.map"),
        *("data.TFRecordDataset", "data.Dataset.batch"),
    }
    missing = {name for (_, name), use in uses.items() if use == (False, None)}
    assert missing == {"data.Dataset.frobbed", "data.Dataset.shuffled", "image.frob"}
    assert "needs TensorFlow" in uses[3, "tensorflow_datasets"][1]
    assert "import keras" in uses[5, "keras.layers"][1]
    assert uses[8, "py_function"][0]
    assert "call the function itself" in uses[8, "py_function"][1]
    assert uses[9, "compat.v1.Session"][0]
    assert "training belongs to" in uses[10, "compat.v1.train.AdamOptimizer"][1]
    assert not any(name.endswith("ds.frob") for _, name in uses)


def test_the_command_lists_what_is_missing(tmp_path, capsys):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    assert cli.main(["port", str(program)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"{program}:11: tf.image.frob: missing" in lines
    assert not any("tf.cast" in line for line in lines)
    assert "3 missing (3 names); nothing missing in 0 of 1 files" in lines[-2]
    assert "not methods of values, nor arguments" in lines[-1]
    cli.main(["port", "--all", str(program)])
    assert f"{program}:6: tf.cast: there" in capsys.readouterr().out.splitlines()
    assert cli.main(["port", "--json", str(program)]) == 1
    uses = json.loads(capsys.readouterr().out)
    assert {use["name"] for use in uses if use["missing"]} >= {"image.frob"}
    assert {use["name"] for use in uses if use["there"]} >= {"cast"}


def test_each_edit_is_listed_once(tmp_path, capsys):
    program = tmp_path / "train.py"
    program.write_text(
        "import tensorflow as tf\n"
        "from tensorflow.keras import layers\n"
        "a = [layers.Dense(1), layers.Dense(2)]\n"
        "b = layers.Dropout(1)\n"
        "c = tf.image.frob(a) + tf.image.frob(b)\n"
        "d = tf.image.frob(c)\n"
        "e = tf.cast(a, tf.int32), tf.cast(b, tf.int32)\n"
    )
    # The folder contains the program too.
    assert cli.main(["port", "--all", str(program), str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()[:-2]
    assert [line.removeprefix(f"{program}:").partition(": ")[0] for line in lines] == list("2577")
    assert lines[0].endswith("(also in lines 3, 4)")
    assert lines[1] == f"{program}:5: tf.image.frob: missing (also in lines 6)"
    assert cli.main(["port", str(program)]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_folders_and_notebooks_are_read(tmp_path, capsys):
    (tmp_path / "a.py").write_text("import tensorflow as tf\ntf.cast\n")
    cells = [
        {"cell_type": "markdown", "source": ["tf.frob"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import tensorflow as tf\n"]},
        {"cell_type": "code", "source": ["!pip install x\n", "tf.nothing(1)"]},
    ]
    (tmp_path / "b.ipynb").write_text(json.dumps({"cells": cells}))
    assert cli.main(["port", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "b.ipynb:5: tf.nothing: missing" in out
    assert "nothing missing in 1 of 2 files" in out


def test_what_cannot_be_read_is_said(tmp_path, capsys):
    assert cli.main(["port", str(tmp_path / "none.py")]) == 2
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "old.py").write_text("print 'x'")
    assert cli.main(["port", str(tmp_path / "old.py")]) == 2
    assert "old.py: cannot be read as Python" in capsys.readouterr().err


def test_one_file_that_cannot_be_read_does_not_hide_the_others(tmp_path, capfd):
    texts = {
        "broken.ipynb": "{",
        "list.ipynb": "[]",
        "old.ipynb": json.dumps({"worksheets": []}),
        "deep.py": "x = " + "-" * 20000 + "1",
        "bytes.py": "\0",
        "whole.py": "\ufeffimport tensorflow as tf\ntf.nothing\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "dead.py").symlink_to(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe.py")
    assert cli.main(["port", str(tmp_path)]) == 2
    shown = capfd.readouterr()
    assert f"{tmp_path / 'whole.py'}:2: tf.nothing: missing" in shown.out.splitlines()
    refused = {Path(line.partition(": ")[0]).name for line in shown.err.splitlines()}
    assert refused == set(texts) - {"whole.py"}


def test_commands_in_notebooks_are_no_python(tmp_path, capsys):
    sources = [
        "if True:\n  !pip install x\nfiles = !ls\nimport tensorflow as tf",
        "%%bash\ntf.frob in a shell",
        "%%time\ntf.one",
        "tf.two?\ntf.three",
        "x = (5\n% tf.four)",
        None,
    ]
    cells = [{"cell_type": "code", "source": source} for source in sources]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [*cells, {"cell_type": "code"}, 5]}))
    assert cli.main(["port", str(tmp_path / "a.ipynb")]) == 1
    lines = [line.partition("ipynb:")[2] for line in capsys.readouterr().out.splitlines()]
    assert lines[:3] == ["8: tf.one: missing", "10: tf.three: missing", "12: tf.four: missing"]


def test_names_from_a_star_cannot_be_seen():
    uses = found("from tensorflow import *\nfrom tensorflow.data import *\n")
    assert {name for _, name in uses} == {"*", "data.*"}
    assert all(not there and "import tensorflow as tf" in advice for there, advice in uses.values())


def test_a_program_without_tensorflow_lacks_nothing(tmp_path, capsys):
    (tmp_path / "a.py").write_text("import numpy as np\nnp.zeros(3)\n")
    assert cli.main(["port", str(tmp_path / "a.py")]) == 0
    assert capsys.readouterr().out.startswith("0 uses of TensorFlow's names")


@pytest.mark.parametrize(
    ("get", "advice"),
    [
        (lambda: tf.GradientTape, "training belongs to Keras, JAX or PyTorch"),
        (lambda: tf.optimizers, "import keras"),
        (lambda: tf.data.experimental.service, "run the pipeline where it trains"),
        (lambda: tf.image.resiz, "perhaps resize is meant"),
        (lambda: tf.frob, "python -m penstock port FILE"),
        (lambda: v1.train.AdamOptimizer, "training belongs to"),
        (lambda: v1.layers, "import keras"),
        (lambda: tf.summary, "tensorboardX"),
        (lambda: tf.logging, "a name of TensorFlow 1: import penstock.compat.v1 as tf"),
        (lambda: tf.placeholder, "a name of TensorFlow 1: import penstock.compat.v1 as tf"),
        (lambda: tf.get_variable, "training belongs to"),
    ],
)
def test_a_missing_name_says_what_to_write_instead(get, advice):
    with pytest.raises(AttributeError, match=advice):
        get()
