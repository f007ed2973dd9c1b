import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void keepsQuestions() {
        Request request = Request.of("""
            {"turns": [{"role": "user", "content": "what is a slice?"}, {"role": "assistant", "content": "a view"}], "summary": "A talk.",
             "settings": {"max_words": 3}}""");
        assertEquals("A talk.\nAsked: what is a", Plugin.compact(request).get("summary").text());
    }
}
