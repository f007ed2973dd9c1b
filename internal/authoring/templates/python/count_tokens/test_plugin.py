import unittest

from plugin import count_tokens


class Test(unittest.TestCase):
    def test_counts_bytes(self):
        self.assertEqual(count_tokens({"texts": ["", "four", "größer"]}, {}), {"counts": [0, 1, 2]})
