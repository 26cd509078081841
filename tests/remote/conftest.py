"""Servers on the loopback address, and settings that are reset after the test."""

import uuid

import pytest
from range_server import RangeServer

import penstock as ps
from penstock import storage_options
from penstock.remote import settings

FAST = {"timeout": 2.0, "max_seconds": 30.0, "max_attempts": 30}


@pytest.fixture(autouse=True)
def own_settings(monkeypatch):
    monkeypatch.setattr(settings, "_by_prefix", {})
    monkeypatch.setattr(storage_options, "_by_folder", {})
    ps.remote.configure(storage_options=FAST)


@pytest.fixture
def server():
    with RangeServer() as running:
        yield running


@pytest.fixture(scope="session")
def endpoint():
    """Return the address of an S3 server."""
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def options(endpoint):
    """Return the storage options of the S3 server."""
    return {
        "key": "a",
        "secret": "b",
        "client_kwargs": {"region_name": "us-east-1"},
        "endpoint_url": endpoint,
    }


@pytest.fixture
def new_bucket(endpoint):
    """Return a new bucket: its URL and its boto3 object."""
    boto3 = pytest.importorskip("boto3")
    s3 = boto3.resource(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id="a",
        aws_secret_access_key="b",
        region_name="us-east-1",
    )
    made = s3.create_bucket(Bucket=f"bucket-{uuid.uuid4().hex[:8]}")
    return f"s3://{made.name}", made


@pytest.fixture
def bucket(new_bucket, options):
    """Return the same, with the access configured."""
    ps.remote.configure(new_bucket[0], storage_options=options)
    return new_bucket
