import static org.junit.jupiter.api.Assertions.assertEquals;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void countsBytes() {
        assertEquals("{\"counts\":[0,1,2]}", Plugin.countTokens(Request.of("{\"texts\": [\"\", \"four\", \"größer\"]}")).toString());
    }
}
