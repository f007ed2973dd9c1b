"""Rates items by the words of the query that they contain."""

import re
import string

MAX_TERMS = 32
# A word is letters and digits of ASCII, and all characters beyond ASCII. Letters of ASCII are
# lowered: str.lower would change others too.
LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
WORD = re.compile(r"[a-z0-9\u0080-\U0010ffff]+")


def rerank(request, settings):
    items = request["items"]
    terms = list(dict.fromkeys(words(request["query"].get("query_str", ""))))[:MAX_TERMS]
    all_words = [words(item.get("content", "")) for item in items]
    total = sum(map(len, all_words))
    if not terms or not total:
        return None  # no change

    index = {term: t for t, term in enumerate(terms)}
    counts = [count(found, index) for found in all_words]
    weights = [1 - sum(of[t] > 0 for of in counts) / (len(items) + 1) for t in range(len(terms))]
    whole = add(weights)
    average = total / len(items)
    scores = []
    for row, of in enumerate(counts):
        norm = 1.2 * (0.25 + 0.75 * len(all_words[row]) / average)
        scores.append({"row": row, "score": add(w * n / (n + norm) for w, n in zip(weights, of)) / whole})
    return {"scores": scores}


def words(text):
    return WORD.findall(text.translate(LOWER))


def count(found, index):
    """Says how often each term occurs among words."""
    of = [0] * len(index)
    for word in found:
        if word in index:
            of[index[word]] += 1
    return of


def add(numbers):
    """Adds from left to right, as the other languages do. The function sum corrects rounding."""
    total = 0.0
    for number in numbers:
        total += number
    return total
