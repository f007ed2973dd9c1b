import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void formatsTheWindow() {
        Request request = Request.of("{\"items\": [{\"source\": \"memory\", \"content\": \"likes Go\"}], \"settings\": {\"title\": \"Notes\"}}");
        assertEquals("# Notes\n\n## memory\n\nlikes Go\n", Plugin.format(request).get("output").text());
    }
}
