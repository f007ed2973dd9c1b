import unittest

from plugin import rerank


class Test(unittest.TestCase):
    def test_scores_items_by_the_words_they_contain(self):
        request = {"query": {"query_str": "go Test"}, "items": [{"content": "make"}, {"content": "go test", "score": 1}]}
        self.assertEqual(rerank(request, {"weight": 0.5}), {"scores": [{"row": 0, "score": 0}, {"row": 1, "score": 1}]})

    def test_changes_nothing_without_a_query(self):
        self.assertIsNone(rerank({"query": {}, "items": [{}]}, {}))
