import unittest

from plugin import transform_query


class Test(unittest.TestCase):
    def test_writes_abbreviations_out(self):
        query = {"query_str": "cancel a ctx"}
        self.assertEqual(transform_query({"query": query}, {}), {"queries": [query, {"query_str": "cancel a context"}]})

    def test_changes_nothing_without_abbreviations(self):
        self.assertIsNone(transform_query({"query": {"query_str": "cancel a request"}}, {}))
