"""S3 keys that obstore does not support: empty parts, folder markers, control characters.

obstore normalises keys: ``/a`` becomes ``a``, ``folder/`` becomes ``folder``. A key ``a//b`` raises
an error, even within a list of many keys. Therefore this module makes the key, or the query of a
list request, part of the endpoint, so that obstore signs the URL and leaves it unchanged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode
from xml.etree import ElementTree

from penstock.remote.failures import Failure

# obstore appends "/" and its key to the URL; S3 ignores this parameter.
_REST = "x-id="
NAME = "penstock"
_CHANGED = re.compile("//|^/|/$|[\\x00-\\x1f\\x7f]")
_KEPT = "/-_.~"  # characters that S3 does not quote in a signature


def is_exact(key: str) -> bool:
    """Return whether obstore would change or refuse a key."""
    return bool(_CHANGED.search(key))


def _named(config: Mapping[str, Any], *names: str) -> Any:
    for key, value in config.items():
        if key.lower().removeprefix("aws_") in names and value is not None:
            return value
    return next((value for name in names if (value := os.environ.get(f"AWS_{name.upper()}"))), None)


def _with_endpoint(bucket: str, config: Mapping[str, Any], rest: str) -> dict[str, Any]:
    endpoint = _named(config, "endpoint", "endpoint_url")
    region = _named(config, "region", "default_region") or "us-east-1"
    base = str(endpoint or f"https://s3.{region}.amazonaws.com").rstrip("/")
    hosted = str(_named(config, "virtual_hosted_style_request")).lower() == "true"
    if not (endpoint and hosted):
        base = f"{base}/{bucket}"
    replaced = ("endpoint", "endpoint_url", "virtual_hosted_style_request")
    others = {
        key: value
        for key, value in config.items()
        if key.lower().removeprefix("aws_") not in replaced
    }
    return {**others, "endpoint": base + rest, "virtual_hosted_style_request": True}


def of_key(bucket: str, config: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the configuration of a store in which the object `NAME` has this key."""
    return _with_endpoint(bucket, config, f"/{quote(key, safe=_KEPT)}?{_REST}")


def of_list(
    bucket: str, config: Mapping[str, Any], prefix: str, deep: bool, token: str
) -> dict[str, Any]:
    """Return the configuration of a store in which the object `NAME` is a page of a list."""
    query = {"list-type": "2", "prefix": prefix, "encoding-type": "url"}
    if not deep:
        query["delimiter"] = "/"
    if token:
        query["continuation-token"] = token
    text = urlencode(query, quote_via=quote, safe=_KEPT.replace("/", ""))
    return _with_endpoint(bucket, config, f"?{text}&{_REST}")


def read_page(page: bytes) -> tuple[list[tuple[str, int]], str]:
    """Return the keys and sizes of a page, and the token of the next one ("" for none).

    Folders end with a slash, and folder markers are omitted.
    """
    try:
        root = ElementTree.fromstring(page)
    except ElementTree.ParseError as error:
        raise Failure(f"the list of objects is damaged: {error}", again=True) from error
    space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""

    def text(element: ElementTree.Element, name: str) -> str:
        return element.findtext(space + name) or ""

    encoded = text(root, "EncodingType") == "url"

    def key_of(element: ElementTree.Element, name: str) -> str:
        # A server that ignores `encoding-type` returns plain keys, and no EncodingType.
        return unquote(text(element, name)) if encoded else text(element, name)

    found = []
    for each in root.iter(f"{space}CommonPrefixes"):
        found.append((key_of(each, "Prefix"), 0))
    for each in root.iter(f"{space}Contents"):
        key, size = key_of(each, "Key"), int(text(each, "Size") or 0)
        if not key.endswith("/"):
            found.append((key, size))
    truncated = text(root, "IsTruncated") == "true"
    return found, text(root, "NextContinuationToken") if truncated else ""
