import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.anchorhost.Request;
import org.junit.jupiter.api.Test;

class PluginTest {
    @Test
    void scoresItemsByTheWordsTheyContain() {
        Request request = Request.of("""
            {"query": {"query_str": "go Test"}, "items": [{"content": "make"}, {"content": "go test", "score": 1}], "settings": {"weight": 0.5}}""");
        assertEquals("{\"scores\":[{\"row\":0,\"score\":0.0},{\"row\":1,\"score\":1.0}]}", Plugin.rerank(request).toString());
    }

    @Test
    void changesNothingWithoutAQuery() {
        assertNull(Plugin.rerank(Request.of("{\"query\": {}, \"items\": [{}]}")));
    }
}
