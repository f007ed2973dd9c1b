import unittest

from plugin import compact


class Test(unittest.TestCase):
    def test_keeps_questions(self):
        turns = [{"role": "user", "content": "what is a slice?"}, {"role": "assistant", "content": "a view"}]
        reply = compact({"turns": turns, "summary": "A talk."}, {"max_words": 3})
        self.assertEqual(reply, {"summary": "A talk.\nAsked: what is a"})
