import unittest

from plugin import memory


class Test(unittest.TestCase):
    def test_recalls_facts_the_first_on_top(self):
        items = memory({}, {"facts": ["likes short answers", "writes Go"]})["items"]
        self.assertEqual([item["score"] for item in items], [1, 0.5])
