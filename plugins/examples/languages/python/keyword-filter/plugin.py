"""Keeps the items that contain any, or all, of the keywords."""

import string

# Letters of ASCII only: str.lower would change others too.
LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def filter(request, settings):
    words = settings.get("keywords", "").translate(LOWER).split(" ")
    words = [word for word in words if word]
    if not words:
        return None  # no change
    wanted = all if settings.get("match") == "all" else any
    keep = []
    for row, item in enumerate(request["items"]):
        text = item.get("content", "")
        text = text.lower() if text.isascii() else text.translate(LOWER)
        if wanted(word in text for word in words):
            keep.append(row)
    return {"keep": keep}
