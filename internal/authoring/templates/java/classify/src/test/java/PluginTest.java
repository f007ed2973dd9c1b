import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void labelsQueries() {
        assertEquals("code", label("Panic in a handler"));
        assertEquals("prose", label("who wrote this?"));
    }

    private static String label(String query) {
        return Plugin.classify(Request.of("{\"query\": {\"query_str\": \"" + query + "\"}, \"settings\": {\"code_words\": [\"panic\"]}}")).get("label").text();
    }
}
