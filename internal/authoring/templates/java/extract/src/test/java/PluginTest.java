import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void findsFacts() {
        Request request = Request.of("""
            {"turns": [{"role": "user", "content": "Hello. I live in Oslo!"}, {"role": "assistant", "content": "I live in a box."}],
             "settings": {"words": ["live"]}}""");
        assertEquals("{\"add\":[{\"content\":\"I live in Oslo\"}]}", Plugin.extract(request).toString());
    }

    @Test
    void removesWhatAnotherFactSays() {
        Request request = Request.of("""
            {"turns": [], "facts": [{"id": "a", "content": "I live in Oslo"}, {"id": "b", "content": "in Oslo"}, {"id": "c", "content": "in Oslo"}]}""");
        assertEquals("{\"remove\":[\"b\",\"c\"]}", Plugin.extract(request).toString());
    }
}
