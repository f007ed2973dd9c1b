import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void notesQuestions() {
        Request request = Request.of("""
            {"mode": "observe", "messages": [{"role": "user", "content": "what is a slice?"}, {"role": "assistant", "content": "let me look"}],
             "settings": {"max_words": 3}}""");
        assertEquals("{\"add\":[\"Asked: what is a\"]}", Plugin.distill(request).toString());
    }

    @Test
    void reflectsOnQuestions() {
        Request request = Request.of("""
            {"mode": "reflect", "observations": ["Asked: a", "Found: b"], "reflection": "A talk.", "max_tokens": 100}""");
        assertEquals("Asked: a\nA talk.", Plugin.distill(request).get("reflection").text());
    }
}
