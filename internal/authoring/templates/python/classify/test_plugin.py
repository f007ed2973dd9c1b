import unittest

from plugin import classify


class Test(unittest.TestCase):
    def test_labels_queries(self):
        def label(text):
            return classify({"query": {"query_str": text}}, {"code_words": ["panic"]})["label"]

        self.assertEqual(label("Panic in a handler"), "code")
        self.assertEqual(label("who wrote this?"), "prose")
