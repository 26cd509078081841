"""Files in object stores and on web servers: every path may be a URL."""

from penstock.remote.settings import configure

__all__ = ["configure"]


def __dir__() -> list[str]:
    return [*__all__]
