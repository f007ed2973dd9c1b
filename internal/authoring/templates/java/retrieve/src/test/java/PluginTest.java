import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Json;
import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void findsNotesTheBestFirst() {
        Json found = Plugin.retrieve(Request.of("{\"query\": {\"query_str\": \"compiles a package\"}, \"top_k\": 2}")).json().get("items");
        assertEquals("build", found.get(0).get("key").text());
        assertEquals("test", found.get(1).get("key").text());
    }

    @Test
    void findsNothingWithoutAQuery() {
        assertEquals("{}", Plugin.retrieve(Request.of("{\"query\": {}, \"top_k\": 2}")).toString());
    }
}
