import unittest

from plugin import process


class Test(unittest.TestCase):
    def test_trims_cuts_and_drops(self):
        items = [{"content": " a b\n"}, {"content": " \t"}, {"content": "as it is"}, {"content": "äöü"}]
        self.assertEqual(process({"items": items}, {"max_bytes": 8}), {"keep": [0, 2, 3], "edits": [{"row": 0, "content": "a b"}]})
        cut = process({"items": [{"content": "äöü"}]}, {"max_bytes": 3})
        self.assertEqual(cut, {"keep": [0], "edits": [{"row": 0, "content": "ä"}]})
