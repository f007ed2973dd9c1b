import unittest

from plugin import filter, init


class Test(unittest.TestCase):
    def test_drops_items_with_a_word(self):
        init({}, {"words": ["Draft"]})
        items = [{"content": "a DRAFT of it"}, {"content": "the final text"}]
        self.assertEqual(filter({"items": items}, {}), {"keep": [1]})

    def test_refuses_an_empty_word(self):
        with self.assertRaisesRegex(ValueError, "is no word"):
            init({}, {"words": [" "]})
