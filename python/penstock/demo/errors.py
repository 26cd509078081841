"""Why the demo cannot go on."""


class DemoError(Exception):
    """Something the person at the command line can put right; the text says how."""
