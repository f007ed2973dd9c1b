"""A second file of the plugin."""

import contextlib

closed = []


@contextlib.contextmanager
def resource(name):
    try:
        yield name
    finally:
        closed.append(name)


def fail():
    with resource("a"), resource("b"):
        raise ValueError("inside of with")
