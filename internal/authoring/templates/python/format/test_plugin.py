import unittest

from plugin import format


class Test(unittest.TestCase):
    def test_formats_the_window(self):
        reply = format({"items": [{"source": "memory", "content": "likes Go"}]}, {"title": "Notes"})
        self.assertEqual(reply["output"], "# Notes\n\n## memory\n\nlikes Go\n")
