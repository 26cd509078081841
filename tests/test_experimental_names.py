"""penstock.experimental: devices, and the old names of file datasets."""

import inspect

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import steps
from records import COMPRESSIONS

ex = ps.experimental

CPU = ["cpu", "/cpu:0", "CPU:0", "/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"]


@pytest.mark.parametrize("device", CPU)
def test_the_cpu_is_where_elements_are(device):
    ds = ps.Dataset.range(5)
    for size in (None, 0, 2, ps.AUTOTUNE):
        assert_same(list(ds.apply(ex.prefetch_to_device(device, size))), list(range(5)))
    assert ds.apply(ex.prefetch_to_device(device, 2)).cardinality() == 5
    assert_same(list(ds.apply(ex.copy_to_device(device, device))), list(range(5)))


@pytest.mark.parametrize("device", ["/gpu:0", "cuda", "/cpu:1", "", "tpu", None, 0])
def test_other_devices_are_refused_with_advice(device):
    words = r"must be the CPU, got .*; elements are NumPy arrays: use prefetch\(\), and copy"
    with pytest.raises(ValueError, match=f"prefetch_to_device: device {words}"):
        ex.prefetch_to_device(device)
    with pytest.raises(ValueError, match=f"copy_to_device: target_device {words}"):
        ex.copy_to_device(device)
    with pytest.raises(ValueError, match=f"copy_to_device: source_device {words}"):
        ex.copy_to_device("cpu", device)


def test_a_wrong_size_is_refused_by_prefetch():
    with pytest.raises(ValueError, match="prefetch_to_device: buffer_size must be >= 0"):
        ps.Dataset.range(3).apply(ex.prefetch_to_device("cpu", -2))


@pytest.mark.parametrize("compression", [None, "", *COMPRESSIONS])
def test_a_dataset_of_strings_is_written_as_records(tmp_path, compression):
    writer = ex.TFRecordWriter(tmp_path / "words", compression)
    for words in (["one", "zwölf"], ["again"], []):
        assert writer.write(ps.Dataset.from_tensor_slices(np.array(words, object))) is None
        written = list(ps.TFRecordDataset(tmp_path / "words", compression))
        assert written == [word.encode() for word in words]
    writer.write(ps.Dataset.from_tensor_slices([b"\0\xff"]).repeat(2))
    assert list(ps.TFRecordDataset(tmp_path / "words", compression)) == [b"\0\xff"] * 2


def test_other_elements_are_not_written(tmp_path):
    writer = ex.TFRecordWriter(tmp_path / "words")
    with pytest.raises(TypeError, match=r"must be bytes or str, element 0 is np\.int64"):
        writer.write(ps.Dataset.range(3))
    mixed = ps.Dataset.from_indexable([b"good", (b"a", b"pair")])
    with pytest.raises(TypeError, match="elements must be bytes or str, element 1 is"):
        writer.write(mixed)
    assert steps(iter(ps.TFRecordDataset(tmp_path / "words"))) == [b"good"]
    with pytest.raises(TypeError, match="TFRecordWriter: a Dataset was expected"):
        writer.write([b"a"])
    with pytest.raises(ValueError, match="LZ4"):
        ex.TFRecordWriter(tmp_path / "words", "LZ4")
    with pytest.raises(OSError, match="nowhere"):
        ex.TFRecordWriter(tmp_path / "nowhere" / "x").write(ps.Dataset.from_tensor_slices(["a"]))


def test_save_load_and_snapshot_are_those_of_dataset(tmp_path):
    ds = ps.Dataset.range(6).map(lambda x: x * x)
    ex.save(ds, tmp_path / "saved", "GZIP")
    assert_same(list(ex.load(tmp_path / "saved", compression="GZIP")), list(ds))
    assert_same(list(ex.load(tmp_path / "saved", ds.element_spec)), list(ds))
    kept = ds.apply(ex.snapshot(tmp_path / "kept"))
    assert_same(list(kept), list(ds))
    assert_same(list(kept), list(ds))
    assert any((tmp_path / "kept").rglob("*"))


def test_the_arguments_of_a_writer_are_those_of_tf_data():
    parameters = inspect.signature(ex.TFRecordWriter).parameters.values()
    assert [(p.name, p.default) for p in parameters][1:] == [
        ("compression_type", None),
        ("storage_options", None),
    ]
