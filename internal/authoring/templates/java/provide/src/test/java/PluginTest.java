import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.anchorhost.Json;
import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void putsTheNoteFirst() {
        Json messages = Plugin.provide(Request.of("""
            {"messages": [{"role": "user", "content": "hello"}], "settings": {"note": "Be kind."}}""")).get("messages");
        assertEquals("Be kind.", messages.get(0).get("content").text());
        assertEquals("hello", messages.get(1).get("content").text());
        assertNull(Plugin.provide(Request.of("{\"messages\": []}")));
    }

    @Test
    void estimatesTheNote() {
        assertEquals("{\"tokens\":2}", Plugin.estimateTokens(Request.of("{\"settings\": {\"note\": \"Be kind.\"}}")).toString());
    }
}
