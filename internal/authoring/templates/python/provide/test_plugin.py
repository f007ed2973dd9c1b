import unittest

from plugin import estimate_tokens, provide


class Test(unittest.TestCase):
    def test_puts_the_note_first(self):
        hello = {"role": "user", "content": "hello"}
        reply = provide({"messages": [hello]}, {"note": "Be kind."})
        self.assertEqual([message["content"] for message in reply["messages"]], ["Be kind.", "hello"])
        self.assertIsNone(provide({"messages": [hello]}, {}))

    def test_estimates_the_note(self):
        self.assertEqual(estimate_tokens({}, {"note": "Be kind."}), {"tokens": 2})
