import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void writesAbbreviationsOut() {
        Request request = Request.of("{\"query\": {\"query_str\": \"cancel a ctx\"}}");
        assertEquals("cancel a context", Plugin.transformQuery(request).get("queries").get(1).get("query_str").text());
    }

    @Test
    void changesNothingWithoutAbbreviations() {
        assertNull(Plugin.transformQuery(Request.of("{\"query\": {\"query_str\": \"cancel a request\"}}")));
    }
}
