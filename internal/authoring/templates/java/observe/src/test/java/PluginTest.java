import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import io.anchorhost.Fake;
import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void warnsOfSlowSteps() {
        Fake.reset();
        Plugin.observe(Request.of("{\"type\": \"step_end\", \"step\": \"search\", \"time_ms\": 101}"));
        Plugin.observe(Request.of("{\"type\": \"step_end\", \"step\": \"search\", \"time_ms\": 100}"));
        Plugin.observe(Request.of("{\"type\": \"pipeline_end\", \"time_ms\": 101}"));
        assertEquals(List.of("warn: step search took 101 ms"), Fake.log);
    }
}
