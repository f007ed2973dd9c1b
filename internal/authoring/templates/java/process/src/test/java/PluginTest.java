import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void trimsCutsAndDrops() {
        Request request = Request.of("""
            {"items": [{"content": " a b\\n"}, {"content": " \\t"}, {"content": "as it is"}, {"content": "äöü"}], "settings": {"max_bytes": 8}}""");
        assertEquals("{\"keep\":[0,2,3],\"edits\":[{\"row\":0,\"content\":\"a b\"}]}", Plugin.process(request).toString());
        assertEquals("ä", Plugin.cut("äöü", 3));
    }
}
