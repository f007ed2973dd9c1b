import unittest

from anchor import fake
from plugin import observe, warning


class Test(unittest.TestCase):
    def test_warns_of_slow_steps(self):
        slow = {"type": "step_end", "step": "search", "time_ms": 101}
        self.assertEqual(warning(slow, 100), "step search took 101 ms")
        self.assertIsNone(warning({"type": "step_end", "step": "search", "time_ms": 100}, 100))
        self.assertIsNone(warning({"type": "pipeline_end", "time_ms": 101}, 100))

    def test_writes_to_the_log(self):
        fake.reset()
        observe({"type": "step_end", "step": "search", "time_ms": 200}, {})
        self.assertEqual(fake.log, [("warn", "step search took 200 ms")])
