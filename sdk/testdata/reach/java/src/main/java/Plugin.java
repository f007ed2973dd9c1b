import io.anchorhost.Anchor;
import io.anchorhost.Changes;
import io.anchorhost.Embedded;
import io.anchorhost.HttpRequest;
import io.anchorhost.HttpResponse;
import io.anchorhost.Item;
import io.anchorhost.Json;
import io.anchorhost.Request;
import io.anchorhost.ServiceException;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** Uses everything that the host offers, and reads columns that its manifest does not name. */
public final class Plugin {
    public static Json classify(Request request) {
        String url = request.settings().get("url").text();
        if (url.isEmpty()) {
            return Json.object().put("label", served(request.query()));
        }
        byte[] bytes = {0, (byte) 0xff, 0x7a};
        HttpResponse one = Anchor.http(new HttpRequest(url + "/echo").method("POST").header("X-Word", "wörd").body(bytes));
        if (!Arrays.equals(one.body(), bytes)) {
            throw new IllegalStateException("bytes " + Arrays.toString(one.body()));
        }
        HttpResponse late = Anchor.http(new HttpRequest(url + "/never").timeout(Duration.ofMillis(50)));
        List<HttpResponse> both = Anchor.httpBatch(List.of(
            new HttpRequest(url + "/echo").json(Json.object().put("n", 1)).timeout(Duration.ofSeconds(60)),
            new HttpRequest(url + "/never").timeout(Duration.ofMillis(50))));
        if (Anchor.kvGet("k") != null || !Anchor.kvSet("k", "stored")) {
            throw new IllegalStateException("kv");
        }
        String stored = Anchor.kvGet("k");
        Anchor.kvDelete("k");
        return Json.object().put("label", one.status() + " " + one.headers().get("x-word") + " " + late.status() + " " + both.get(0).status() + " "
            + both.get(0).json().get("n").integer() + " " + both.get(1).status() + " " + both.get(1).error() + " " + stored + " "
            + Anchor.countTokens(request.query()));
    }

    public static Changes filter(Request request) {
        Changes changes = new Changes(request).keepNone();
        for (Item item : request.items()) {
            boolean drop = item.metadata().get("drop").bool(false);
            if (!drop && !item.source().equals("tool") && item.embedding().length == 0 && !item.text().isEmpty()) {
                changes.keep(item.row());
            }
        }
        return changes;
    }

    /** Labels a question by what the services answer. */
    private static String served(String question) {
        if (!Anchor.embed(List.of(), "document").vectors().isEmpty()) {
            throw new IllegalStateException("vectors of no texts");
        }
        Embedded e = Anchor.embed(List.of(question, ""), "query");
        Json where = Json.object().put("field", "path").put("op", "prefix").put("values", List.of("a/", "b\""));
        List<Json> hits = Anchor.search(Json.object().put("text", question).put("collection", "docs").put("by", "hybrid").put("k", 2)
            .put("filter", Json.list(where)), e.vectors().get(0));
        Json h = hits.get(0);
        String gone;
        try {
            gone = Anchor.search(Json.object().put("text", question).put("collection", "gone"), null).toString();
        } catch (ServiceException error) {
            gone = error.word().equals("not_found") ? error.getMessage() : error.word();
        }
        Json schema = Json.object().put("type", "object").put("properties", Json.object().put("n", Json.object().put("type", "number")));
        Json messages = Json.list(message("system", "Be brief.\n"), message("user", question), message("assistant", ""));
        Json asked = Json.object().put("messages", messages).put("model", "small").put("schema", schema);
        Json one = Anchor.llm(asked.copy().put("max_tokens", 50).put("temperature", 0));
        Json spent = Anchor.llmBatch(List.of(Json.object().put("messages", Json.list(message("user", "spend"))))).get(0);
        Json warm = Anchor.llm(asked);
        StringBuilder label = new StringBuilder();
        for (Object part : new Object[] {
            e.model(), e.dimension(), whole(4 * e.vectors().get(0)[0]), whole(4 * e.vectors().get(1)[1]),
            h.get("text").text(), h.get("document").text(), h.get("title").text(), h.get("path").text(), h.get("chunk").integer(),
            whole(4 * h.get("score").number()), h.get("page").integer(), h.get("line_from").integer(), h.get("line_to").integer(),
            h.get("headings").get(0).text(), h.get("headings").get(1).text(),
            h.get("metadata").get("k").text(), hits.get(1).get("document").text(), hits.get(1).get("page").integer(), gone,
            Anchor.search(Json.object().put("text", question), null).size(),
            one.get("json").get("n").integer(), one.get("model").text(), one.get("finish").text(), one.get("input_tokens").integer(),
            one.get("output_tokens").integer(), spent.get("message").text(), Anchor.llm(question).get("text").text(), warm.get("text").text(),
        }) {
            label.append(part).append(' ');
        }
        return label.toString();
    }

    private static long whole(double number) {
        if (number != Math.rint(number)) {
            throw new IllegalStateException("number " + number);
        }
        return (long) number;
    }

    private static Json message(String role, String content) {
        return Json.object().put("role", role).put("content", content);
    }

    /** Rates items by their vectors. */
    public static Changes rerank(Request request) {
        Json query = request.get("query").get("embedding");
        Changes changes = new Changes(request);
        for (Item item : request.items()) {
            float[] vector = item.embedding();
            double sum = 0;
            for (int i = 0; i < vector.length; i++) {
                sum += vector[i] * query.get(i).number();
            }
            changes.setScore(item.row(), vector.length == 0 ? 0.25 : sum);
        }
        return changes;
    }
}
