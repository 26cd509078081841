"""The demo's exception."""


class DemoError(Exception):
    """An error that the user of the command can fix, as the message explains."""
