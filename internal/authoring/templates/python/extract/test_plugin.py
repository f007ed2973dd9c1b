import unittest

from plugin import extract


class Test(unittest.TestCase):
    def test_finds_facts(self):
        turns = [{"role": "user", "content": "Hello. I live in Oslo!"}, {"role": "assistant", "content": "I live in a box."}]
        self.assertEqual(extract({"turns": turns}, {"words": ["live"]}), {"add": [{"content": "I live in Oslo"}]})

    def test_removes_what_another_fact_says(self):
        facts = [{"id": "a", "content": "I live in Oslo"}, {"id": "b", "content": "in Oslo"}, {"id": "c", "content": "in Oslo"}]
        self.assertEqual(extract({"turns": [], "facts": facts}, {}), {"remove": ["b", "c"]})
