"""Tables: Parquet and JSON lines, compared with plain loops that make the same arrays.

- 8 numeric columns of a Parquet file in batches of 1,024, compared with pyarrow's own
  ``iter_batches`` with ``to_numpy`` of each column;
- rows of a Parquet file by ``global_shuffle``, compared with reading them in order: with half of
  ``memory_limit`` large enough for all decoded columns, and for a quarter of them;
- lines of JSON with a signature in batches of 1,024, compared with a loop over ``orjson.loads``
  that makes the same arrays;
- rows of a Hugging Face dataset, shuffled and in batches of 256, compared with PyTorch's loader
  over ``with_format("numpy")``.

Figures of missing packages are omitted: ``pip install pyarrow orjson datasets torch``.
"""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

ROWS = 2_000_000
SHUFFLED = 200_000  # rows of 264 bytes
BATCH = 1024
LINES = 200_000
EXAMPLES = 100_000  # rows of the Hugging Face dataset
LOADED = 50  # batches from PyTorch's loader per timing
SMALL = 256


def has(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in modules)


def parquet(folder: Path) -> Figure:
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(0)
    columns: dict[str, Any] = {f"f{i}": draw.standard_normal(ROWS, np.float32) for i in range(4)}
    columns |= {f"d{i}": draw.standard_normal(ROWS) for i in range(2)}
    columns |= {f"i{i}": draw.integers(0, 1 << 40, ROWS) for i in range(2)}
    path = str(folder / "rows.parquet")
    pq.write_table(pa.table(columns), path, row_group_size=1 << 18)

    def plain() -> Iterator[Any]:
        file = pq.ParquetFile(path, memory_map=True)
        for batch in file.iter_batches(BATCH):
            yield {name: batch.column(name).to_numpy() for name in columns}

    ds = ps.ParquetDataset(path, batch_size=BATCH)
    cases = {"penstock": lambda: drain(ds), "pyarrow": lambda: drain(plain())}
    rounds = interleaved({name: timed(case, ROWS) for name, case in cases.items()})
    rate = {name: 1e-6 / rounds.seconds(name).median for name in cases}
    return Figure(
        "Parquet, 8 numeric columns: speed / pyarrow's iter_batches",
        rounds.ratio("pyarrow", "penstock"),
        "x",
        at_least=0.9,
        note=f"{rate['penstock']:.1f} against {rate['pyarrow']:.1f} million rows/s",
    )


def shuffled_parquet(folder: Path) -> list[Figure]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = np.random.default_rng(0)
    values = pa.array(draw.standard_normal(SHUFFLED * 64, np.float32))
    columns = {
        "n": np.arange(SHUFFLED),
        "features": pa.FixedSizeListArray.from_arrays(values, 64),
    }
    path = str(folder / "shuffled.parquet")
    pq.write_table(pa.table(columns), path, row_group_size=10_000)
    size = SHUFFLED * (8 + 4 * 64)

    def limited(ds: Any, memory_limit: int) -> Any:
        options = ps.Options()
        options.memory_limit = memory_limit
        return ds.batch(SMALL).with_options(options)

    rows = ps.ParquetDataset(path)
    pipelines = {
        "in order": limited(rows, 4 * size),
        "fits": limited(rows.global_shuffle(seed=1), 4 * size),
        "windows": limited(rows.global_shuffle(seed=1), size // 2),
    }
    cases = {
        name: timed(lambda ds=ds: drain(ds), SHUFFLED)  # type: ignore[misc]
        for name, ds in pipelines.items()
    }
    rounds = interleaved(cases)
    rate = {name: 1e-6 / rounds.seconds(name).median for name in cases}
    return [
        Figure(
            f"Parquet, global_shuffle, {what}: time / in order",
            rounds.ratio(name, "in order"),
            "x",
            at_most=20,
            note=f"{rate[name]:.2f} against {rate['in order']:.2f} million rows/s",
        )
        for name, what in (("fits", "rows fit into memory"), ("windows", "a quarter fits"))
    ]


def json_lines(folder: Path) -> Figure:
    import orjson

    draw = np.random.default_rng(0)
    path = folder / "rows.jsonl"
    with path.open("w") as file:
        for i in range(LINES):
            tokens = draw.integers(0, 50_000, 8).tolist()
            value = {"id": i, "x": float(draw.random()), "y": float(draw.standard_normal())}
            value |= {"label": i % 10, "text": "some words " * (i % 6), "tokens": tokens}
            file.write(json.dumps(value) + "\n")
    signature = {
        "id": ps.TensorSpec((), np.int64),
        "x": ps.TensorSpec((), np.float32),
        "y": ps.TensorSpec((), np.float64),
        "label": ps.TensorSpec((), np.int32),
        "text": ps.TensorSpec((), bytes),
        "tokens": ps.TensorSpec((8,), np.int32),
    }

    def plain() -> Iterator[Any]:
        with path.open("rb") as file:
            while rows := [orjson.loads(line) for line in islice(file, BATCH)]:
                batch = {
                    name: np.array([row[name] for row in rows], spec.dtype)
                    for name, spec in signature.items()
                    if name != "text"
                }
                yield batch | {"text": np.array([row["text"].encode() for row in rows], object)}

    ds = ps.JSONLinesDataset(path, signature).batch(BATCH)
    cases = {"penstock": lambda: drain(ds), "orjson": lambda: drain(plain())}
    rounds = interleaved({name: timed(case, LINES) for name, case in cases.items()})
    rate = {name: 1e-6 / rounds.seconds(name).median for name in cases}
    return Figure(
        "JSON lines with a signature: speed / orjson in a loop",
        rounds.ratio("orjson", "penstock"),
        "x",
        at_least=3,
        note=f"{rate['penstock']:.2f} against {rate['orjson']:.2f} million lines/s",
    )


def hugging_face() -> Figure:
    import datasets
    import torch

    draw = np.random.default_rng(0)
    rows = datasets.Dataset.from_dict(
        {"x": draw.standard_normal((EXAMPLES, 16), np.float32), "y": np.arange(EXAMPLES)}
    )
    loader = torch.utils.data.DataLoader(rows.with_format("numpy"), batch_size=SMALL, shuffle=True)
    ds = ps.Dataset.from_huggingface(rows).shuffle(EXAMPLES).ragged_batch(SMALL)
    rounds = interleaved(
        {
            "penstock": timed(lambda: drain(ds), EXAMPLES),
            "torch": timed(lambda: drain(islice(iter(loader), LOADED)), LOADED * SMALL),
        }
    )
    rate = {name: 1e-3 / rounds.seconds(name).median for name in ("penstock", "torch")}
    return Figure(
        "Hugging Face rows, shuffled: speed / PyTorch's loader over with_format('numpy')",
        rounds.ratio("torch", "penstock"),
        "x",
        at_least=5,
        note=f"{rate['penstock']:.0f} against {rate['torch']:.0f} thousand rows/s",
    )


def run() -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        if has("pyarrow"):
            figures.append(parquet(Path(folder)))
            figures += shuffled_parquet(Path(folder))
        if has("orjson"):
            figures.append(json_lines(Path(folder)))
    if has("datasets", "torch"):
        figures.append(hugging_face())
    return figures


if __name__ == "__main__":
    main(run, __doc__)
