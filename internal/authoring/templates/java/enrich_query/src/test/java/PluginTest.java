import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void addsMemories() {
        Request request = Request.of("""
            {"query": {"query_str": "how old?"}, "items": [{"content": "about Go"}, {"content": "not this one"}], "settings": {"max_items": 1}}""");
        assertEquals("how old?\nabout Go", Plugin.enrichQuery(request).get("query_str").text());
    }

    @Test
    void changesNothingWithoutMemories() {
        assertNull(Plugin.enrichQuery(Request.of("{\"query\": {}, \"items\": []}")));
    }
}
