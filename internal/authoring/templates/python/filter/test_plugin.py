import unittest

from plugin import filter


class Test(unittest.TestCase):
    def test_keeps_items_with_the_word(self):
        items = [{"content": "go test runs tests"}, {"content": "make runs recipes"}, {}]
        self.assertEqual(filter({"items": items}, {"word": "test"}), {"keep": [0]})
