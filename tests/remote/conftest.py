"""Servers on the loopback address, and settings that end with the test."""

import pytest
from range_server import RangeServer

import penstock as ps
from penstock.remote import settings

FAST = {"timeout": 2.0, "max_seconds": 30.0, "max_attempts": 30}


@pytest.fixture(autouse=True)
def own_settings(monkeypatch):
    monkeypatch.setattr(settings, "_by_prefix", {})
    ps.remote.configure(storage_options=FAST)


@pytest.fixture
def server():
    with RangeServer() as running:
        yield running
