import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void dropsItemsWithAWord() {
        Plugin.init(Request.of("{\"settings\": {\"words\": [\"Draft\"]}}"));
        Request request = Request.of("{\"items\": [{\"content\": \"a DRAFT of it\"}, {\"content\": \"the final text\"}]}");
        assertEquals("{\"keep\":[1]}", Plugin.filter(request).toString());
    }

    @Test
    void refusesAnEmptyWord() {
        Request request = Request.of("{\"settings\": {\"words\": [\" \"]}}");
        assertEquals("words: \" \" is no word", assertThrows(IllegalArgumentException.class, () -> Plugin.init(request)).getMessage());
    }
}
