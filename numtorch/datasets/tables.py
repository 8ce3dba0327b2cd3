"""Tables: CSV files as rows of numbers."""
from __future__ import annotations

import csv
import os

import numpy as np

from ..data.dataset import TensorDataset
from ..exchange.construction import from_numpy


class CSVDataset(TensorDataset):
    """A CSV file: example i is row i, as (features (F), target), or (features,) without one.

    Features are float32. A column whose cells are no numbers has categories: the numbers of its texts in alphabetical order. A
    target is int64 if it has categories or whole numbers, else float32.

    Args:
        path: the file.
        target: name or number of the column to predict.
        columns: names or numbers of the columns that are features; all but the target when None.
        delimiter: between cells.
        header: whether the first row has the names.
        missing: what an empty cell counts for; an error when None.
        encoding: of the file.

    Attributes:
        features: (N, F).
        targets: (N), or None.
        names: of the features' columns.
        categories: the texts of each column that has some, by its name.

    Raises:
        OSError: the file cannot be read.
        ValueError: a row is longer or shorter than others, a cell is empty or among numbers none, or a column is not there. The
            message says in which line.

    Example:
        >>> import os, tempfile
        >>> from numtorch.datasets import CSVDataset
        >>> path = os.path.join(tempfile.mkdtemp(), "flowers.csv")
        >>> with open(path, "w") as file:
        ...     _ = file.write("length,width,kind\\n5.1,3.5,setosa\\n6.2,2.9,virginica\\n")
        >>> dataset = CSVDataset(path, target="kind")
        >>> dataset[1], dataset.categories
        ((tensor([6.2000, 2.9000]), tensor(1)), {'kind': ['setosa', 'virginica']})
    """

    def __init__(self, path, target=None, columns=None, delimiter: str = ",", header: bool = True, missing: float | None = None,
                 encoding: str = "utf-8") -> None:
        self.path, self.missing, self.categories = os.fspath(path), missing, {}
        lines, rows = self._rows(delimiter, encoding)
        if header:
            names, lines, rows = [name.strip() for name in rows[0]], lines[1:], rows[1:]
        else:
            names = [str(number) for number in range(len(rows[0]))]
        if not rows:
            raise ValueError(f"CSVDataset: {self.path} has no rows")
        table = dict(zip(names, zip(*rows)))
        target = None if target is None else self._column(names, target)
        self.names = [n for n in names if n != target] if columns is None else [self._column(names, c) for c in columns]
        features = np.stack([self._numbers(name, table[name], lines) for name in self.names], 1) if self.names \
            else np.zeros((len(rows), 0))
        self.features, self.targets = from_numpy(features.astype(np.float32)), None
        if target is not None:
            values = self._numbers(target, table[target], lines)
            whole = np.isfinite(values).all() and (values == values.astype(np.int64)).all()
            self.targets = from_numpy(values.astype(np.int64 if whole else np.float32))
        super().__init__(self.features, *(() if self.targets is None else (self.targets,)))

    def _rows(self, delimiter, encoding):
        """The numbers of the lines that have cells, and the cells."""
        lines, rows = [], []
        with open(self.path, newline="", encoding=encoding) as file:
            reader = csv.reader(file, delimiter=delimiter)
            try:
                for row in reader:
                    if row:
                        lines.append(reader.line_num)
                        rows.append(row)
                        if len(row) != len(rows[0]):
                            raise ValueError(f"expected {len(rows[0])} cells, as in line {lines[0]}, got {len(row)}")
            except (ValueError, csv.Error) as error:
                raise ValueError(f"CSVDataset: {self.path}, line {reader.line_num}: {error}") from None
        if not rows:
            raise ValueError(f"CSVDataset: {self.path} is empty")
        return lines, rows

    def _column(self, names, column):
        name = names[column] if isinstance(column, int) and -len(names) <= column < len(names) else column
        if name not in names:
            raise ValueError(f"CSVDataset: {self.path} has no column {column!r}; it has {', '.join(names)}")
        return name

    def _numbers(self, name, cells, lines):
        """A column as float64: its numbers, or those of its categories."""
        cells = [cell.strip() for cell in cells]
        if self.missing is None and "" in cells:
            raise ValueError(f"CSVDataset: {self.path}, line {lines[cells.index('')]}: the column {name!r} is empty; pass missing "
                             "to give such cells a number")
        parsed = [_number(cell) for cell in cells]
        bad = [place for place, (cell, value) in enumerate(zip(cells, parsed)) if value is None and cell]
        if bad and len(bad) < sum(map(bool, cells)):
            raise ValueError(f"CSVDataset: {self.path}, line {lines[bad[0]]}: expected a number in the column {name!r}, as in "
                             f"others, got {cells[bad[0]]!r}")
        if bad:
            texts = self.categories[name] = sorted({cell for cell in cells if cell})
            number = {text: place for place, text in enumerate(texts)}
            parsed = [number.get(cell) for cell in cells]
        return np.array([self.missing if value is None else value for value in parsed], np.float64)


def _number(cell):
    try:
        return float(cell)
    except ValueError:
        return None
