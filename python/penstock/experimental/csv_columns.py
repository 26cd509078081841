"""Column names and types inferred from CSV files."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.errors import DataError
from penstock.libraries import library_errors
from penstock.ops.decoding import decode_csv_records
from penstock.printable import printable
from penstock.sources.files import read_files

# The candidate types of a column, from the narrowest to the one that accepts every value.
_TYPES: list[Any] = [np.int32, np.int64, np.float32, np.float64, bytes]


class CsvColumns:
    """Infer the columns of CSV files from their first records."""

    def __init__(self, files: list[str], args: dict[str, Any], encoding: str) -> None:
        self.files = files
        self.args = args
        self.encoding = encoding

    def names(self) -> list[str]:
        """Return the names in the headers, which must be the same in all files."""
        if not self.args["header"]:
            raise ValueError("make_csv_dataset: column_names must be given when header is False")
        first: list[str] | None = None
        for file in self.files:
            names = next(self._records(file, header=False), None)
            if names is None:
                raise ValueError(
                    f"make_csv_dataset: a header was expected, {printable(file)} is empty"
                )
            if first is not None and names != first:
                raise ValueError(
                    "make_csv_dataset: the headers of all files must be equal, "
                    f"{printable(self.files[0])} has {first}, {printable(file)} has {names}"
                )
            first = names
        assert first is not None
        return first

    def defaults(
        self, columns: int, selected: list[int], na_value: str, most: int | None
    ) -> list[Any]:
        """Return a 0 or b"" per column, of the narrowest type that fits the values examined."""
        types = dict.fromkeys(selected, -1)
        header = self.args["header"]
        records = (
            (file, number, record)
            for file in self.files
            for number, record in enumerate(self._records(file, header), 1 + header)
        )
        for file, number, record in itertools.islice(records, most):
            if len(record) != columns:
                raise ValueError(
                    f"make_csv_dataset: {columns} fields were expected, record {number} of "
                    f"{printable(file)} has {len(record)}"
                )
            for column in selected:
                if record[column] not in ("", na_value):
                    types[column] = _widened(types[column], record[column])
        found = [_TYPES[number] for number in types.values()]
        return [b"" if kind is bytes else np.array([0], kind) for kind in found]

    def _records(self, file: str, header: bool) -> Iterator[list[str]]:
        args = self.args | {"header": header}
        made = read_files("csv_record", file, args, None, shown_as="make_csv_dataset")
        with made._uncounted() as records:
            for number, record in enumerate(records, 1 + header):
                where = f"record {number}: "
                with library_errors("make_csv_dataset", file, where):
                    split = self._split(record.decode(self.encoding))
                yield split

    def _split(self, text: str) -> list[str]:
        split = csv.reader(
            [text],
            delimiter=self.args["field_delim"],
            quoting=csv.QUOTE_MINIMAL if self.args["use_quote_delim"] else csv.QUOTE_NONE,
        )
        return next(split, [])


def _widened(number: int, text: str) -> int:
    """Return the first type from index `number` on that can represent `text`; -1 precedes all."""
    for candidate in range(max(number, 0), len(_TYPES) - 1):
        try:
            (value,) = decode_csv_records(text, [_TYPES[candidate]], use_quote_delim=False)
        except DataError:
            continue
        if np.isfinite(value):
            return candidate
    return len(_TYPES) - 1
