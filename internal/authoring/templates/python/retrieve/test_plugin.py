import unittest

from plugin import retrieve


class Test(unittest.TestCase):
    def test_finds_notes_the_best_first(self):
        found = retrieve({"query": {"query_str": "compiles a package"}, "top_k": 2}, {})
        self.assertEqual([item["key"] for item in found["items"]], ["build", "test"])

    def test_finds_nothing_without_a_query(self):
        self.assertEqual(retrieve({"query": {}, "top_k": 2}, {}), {"items": []})
