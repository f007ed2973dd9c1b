"""Does what runtimes of languages get wrong."""

import json
import os
import random
import sys
import time

import helper

calls = 0


def classify(request, settings):
    return {"label": globals()["try_" + request["query"]["query_str"]]()}


def try_with():
    del helper.closed[:]
    try:
        helper.fail()
    except ValueError as error:
        return f"{error} {helper.closed}"


def try_raise():
    helper.fail()


def try_absent():
    try:
        __import__("socket")
    except ImportError as error:
        return str(error)


def try_deep():
    try:
        return str(json.loads("[" * 100_000))
    except RecursionError as error:
        return str(error)


def try_recursion():
    def down(n):
        return down(n + 1)

    try:
        return str(down(0))
    except RecursionError:
        return "RecursionError"


def try_deep_enough():
    return str(len(json.dumps(json.loads("[" * 900 + "]" * 900))))


def try_flood():
    """Strings whose hashes are equal are hard to make, integers with one remainder are not."""
    step = (1 << 31) - 1  # what hashes of integers are taken by
    return str(len({n * step for n in range(1, 200_000)}))


def try_random():
    return str(random.random())


def try_count():
    global calls
    calls += 1
    return str(calls)


def try_sleep():
    try:
        time.sleep(1)
    except RuntimeError as error:
        return str(error)


def try_print():
    print("one\ntwo", 3)
    return "printed"


def try_half():
    return "\ud800"


def try_open():
    try:
        open("/etc/passwd")
    except OSError as error:
        return type(error).__name__


def try_thread():
    _thread = __import__("_thread")

    try:
        _thread.start_new_thread(print, ())
    except RuntimeError as error:
        return str(error)


def try_exit():
    sys.exit(3)


def try_end():
    os._exit(3)
