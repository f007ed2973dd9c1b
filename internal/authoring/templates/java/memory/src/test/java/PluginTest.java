import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Json;
import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void recallsFactsTheFirstOnTop() {
        Json items = Plugin.memory(Request.of("{\"settings\": {\"facts\": [\"likes short answers\", \"writes Go\"]}}")).get("items");
        assertEquals(1.0, items.get(0).get("score").number());
        assertEquals(0.5, items.get(1).get("score").number());
    }
}
