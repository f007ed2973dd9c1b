import unittest

from plugin import enrich_query


class Test(unittest.TestCase):
    def test_adds_memories(self):
        request = {"query": {"query_str": "how old?"}, "items": [{"content": "about Go"}, {"content": "not this one"}]}
        self.assertEqual(enrich_query(request, {"max_items": 1}), {"query_str": "how old?\nabout Go"})

    def test_changes_nothing_without_memories(self):
        self.assertIsNone(enrich_query({"query": {}, "items": []}, {}))
