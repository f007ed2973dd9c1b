import unittest

from plugin import distill


class Test(unittest.TestCase):
    def test_notes_questions_and_results(self):
        messages = [{"role": "user", "content": "what is a slice?"}, {"role": "assistant", "content": "let me look"}]
        reply = distill({"mode": "observe", "messages": messages}, {"max_words": 3})
        self.assertEqual(reply, {"add": ["Asked: what is a"]})

    def test_reflects_on_questions(self):
        request = {"mode": "reflect", "observations": ["Asked: a", "Found: b"], "reflection": "A talk.", "max_tokens": 100}
        self.assertEqual(distill(request, {}), {"reflection": "Asked: a\nA talk."})
