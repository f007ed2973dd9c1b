import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void keepsItemsWithTheWord() {
        Request request = Request.of("""
            {"items": [{"content": "go test runs tests"}, {"content": "make runs recipes"}, {}], "settings": {"word": "test"}}""");
        assertEquals("{\"keep\":[0]}", Plugin.filter(request).toString());
    }
}
