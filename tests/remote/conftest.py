"""Servers on the loopback address, and settings that end with the test."""

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
    """Return the address of a server of S3."""
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def options(endpoint):
    """Storage options of the server of S3."""
    return {
        "key": "a",
        "secret": "b",
        "client_kwargs": {"region_name": "us-east-1"},
        "endpoint_url": endpoint,
    }


@pytest.fixture
def new_bucket(endpoint):
    """A new bucket, by its URL and as boto3 has it."""
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
    """The same, and it is configured how it is reached."""
    ps.remote.configure(new_bucket[0], storage_options=options)
    return new_bucket
