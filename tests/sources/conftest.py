"""Files for the tests of sources."""

import pytest


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.csv"):
        path = tmp_path / name
        path.write_bytes(text)
        return str(path)

    return write
