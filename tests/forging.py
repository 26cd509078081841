"""States with one number changed and a valid checksum, as an attacker would forge them."""

from records import crc32c


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def signed(number):
    return varint(2 * number if number >= 0 else -2 * number - 1)


def text(content):
    return varint(len(content)) + content


def read_varint(data, at):
    """Return the number that begins at `at`, and the position after it; None if there is none."""
    number = shift = 0
    while at < len(data):
        byte = data[at]
        number |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return number, at
    return None


def opened(state):
    """Return the part of a state before the position, and the position."""
    at = 5
    for _ in range(4):
        size, at = read_varint(state, at)
        at += size
    size, begin = read_varint(state, at)
    return state[:at], state[begin : begin + size]


def sealed(begin, position):
    body = begin + text(position)
    return body + crc32c(body).to_bytes(4, "little")


def replaced(data, name, at, end, new):
    """Write `new` at this place, and fix the lengths of all enclosing texts."""
    to_end = {len(data)}
    for i in reversed(range(len(data))):
        found = read_varint(data, i)
        if found and found[0] > 0 and sum(found) in to_end:
            to_end.add(i)
    for i in sorted(to_end):
        if i >= name:
            break
        size, begin = read_varint(data, i)
        if begin <= name and at < begin + size:
            inside = data[begin : begin + size]
            return (
                data[:i]
                + text(replaced(inside, name - begin, at - begin, end - begin, new))
                + data[begin + size :]
            )
    return data[:at] + new + data[end:]


def forged(state, kind, field, number):
    """Return the state with field `field` (zero-based) of the stage `kind` replaced by a number."""
    begin, position = opened(state)
    name = text(kind.encode())
    assert position.count(name) == 1
    at = position.index(name) + len(name)
    for _ in range(field):
        _, at = read_varint(position, at)
    _, end = read_varint(position, at)
    return sealed(begin, replaced(position, position.index(name), at, end, signed(number)))
