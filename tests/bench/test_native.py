"""The table of the micro-benchmarks; .ci/run builds and runs the program itself."""

from bench.native.__main__ import rows


def case(theme, name, unit, *values):
    return {"theme": theme, "name": name, "unit": unit, "values": list(values)}


def test_the_table_compares_each_theme_with_its_first_case():
    found = {
        "cases": [
            case("ring", "ours", "ns", 10, 30, 20),
            case("crc", "ours", "GB/s", 8, 8),
            case("ring", "lock", "ns", 50, 70, 60),
            case("crc", "table", "GB/s", 2, 2),
            case("crc", "copy", "GB/s", 16, 16),
        ]
    }
    head, *table = rows(found)
    assert head[-1] == "the engine is"
    assert table == [
        ["ring", "ours", "20.0 ns", "10.0 to 30.0", ""],
        ["", "lock", "60.0 ns", "50.0 to 70.0", "3 x as fast"],
        ["crc", "ours", "8 GB/s", "8 to 8", ""],
        ["", "table", "2 GB/s", "2 to 2", "4 x as fast"],
        ["", "copy", "16.0 GB/s", "16.0 to 16.0", "0.5 x as fast"],
    ]
