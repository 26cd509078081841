"""States after a few steps, and the errors when they are refused."""

import pytest

import penstock as ps


def state_of(ds, steps=1):
    it = iter(ds)
    for _ in range(steps):
        next(it)
    return it.get_state()


def difference(saved, own):
    """Return the differences for which one dataset refuses the other's state."""
    state = state_of(saved)
    with pytest.raises(ps.StateError) as refused:
        iter(own).set_state(state)
    assert isinstance(refused.value, ValueError)
    assert all(text in str(refused.value) for text in refused.value.differences)
    it = iter(own)
    with pytest.warns(RuntimeWarning, match="set_state: the state is of other data: ") as warned:
        it.set_state(state, strict=False)
    assert warned[0].filename == __file__
    it.close()
    (text,) = refused.value.differences
    return text
