package io.anchorhost;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The services of the host. All but config need a permission in plugin.yaml. Under plain Java {@link Fake} answers. */
public final class Anchor {
    private Anchor() {
    }

    /** Returns the value that the operator configured for a key, or null. */
    public static String config(String key) {
        if (!Host.present()) {
            return Fake.config.get(key);
        }
        long found = Host.configGet(Host.block(key));
        return found == 0 ? null : text(Host.bytes(found));
    }

    private static String text(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    /** Sends a request. */
    public static HttpResponse http(HttpRequest request) {
        if (!Host.present()) {
            return Fake.http.apply(request);
        }
        long body = Host.httpRequest(Host.block(request.json()), Host.block(request.body()));
        int status = Host.httpStatus();
        Map<String, String> headers = headers(Host.document(Host.httpHeaders()));
        if (status == 0) {
            String error = headers.get("anchor-error");
            return new HttpResponse(0, Map.of(), new byte[0], error == null ? "network" : error);
        }
        return new HttpResponse(status, headers, Host.bytes(body), "");
    }

    private static Map<String, String> headers(Json given) {
        Map<String, String> headers = new LinkedHashMap<>();
        for (String name : given.names()) {
            headers.put(name, given.get(name).text());
        }
        return headers;
    }

    /** Sends up to 32 requests at the same time. The responses are in the order of the requests. */
    public static List<HttpResponse> httpBatch(List<HttpRequest> requests) {
        List<HttpResponse> responses = new ArrayList<>();
        if (!Host.present()) {
            requests.forEach(request -> responses.add(Fake.http.apply(request)));
            return responses;
        }
        Json all = Json.list();
        for (HttpRequest request : requests) {
            Json each = request.json();
            all.add(request.body().length > 0 ? each.put("body", Host.block(request.body())) : each);
        }
        for (Json each : Host.document(Host.httpBatch(Host.block(Json.object().put("requests", all)))).get("responses").elements()) {
            responses.add(new HttpResponse((int) each.get("status").integer(), headers(each.get("headers")),
                Host.bytes(each.get("body").integer()), each.get("error").text()));
        }
        return responses;
    }

    /** Returns the value of a key, or null. */
    public static byte[] kvGetBytes(String key) {
        if (!Host.present()) {
            return Fake.kv.get(key);
        }
        long found = Host.kvGet(Host.block(key));
        return found == 0 ? null : Host.bytes(found);
    }

    /** Returns the value of a key as text, or null. */
    public static String kvGet(String key) {
        byte[] value = kvGetBytes(key);
        return value == null ? null : text(value);
    }

    /** Stores a value. False means that there is no room. An empty value deletes the key. */
    public static boolean kvSet(String key, byte[] value) {
        if (Host.present()) {
            return Host.kvSet(Host.block(key), Host.block(value)) == 0;
        }
        if (value.length == 0) {
            Fake.kv.remove(key);
        } else {
            Fake.kv.put(key, value.clone());
        }
        return true;
    }

    /** Stores a text. */
    public static boolean kvSet(String key, String value) {
        return kvSet(key, value.getBytes(StandardCharsets.UTF_8));
    }

    /** Deletes a key. */
    public static void kvDelete(String key) {
        kvSet(key, new byte[0]);
    }

    /** Counts the tokens of a text of at most 1 MiB by the host's tokenizer. */
    public static long countTokens(String text) {
        return Host.present() ? Host.countTokens(Host.block(text)) : Fake.countTokens.applyAsLong(text);
    }

    private static Json answered(Json answer) {
        if (!answer.exists()) {
            throw new ServiceException("invalid", "the host has not answered");
        }
        if (answer.get("error").exists()) {
            throw new ServiceException(answer.get("error").text(), answer.get("message").text());
        }
        return answer;
    }

    /** Makes a vector of each of up to 1024 texts. side is "document" or "query". */
    public static Embedded embed(List<String> texts, String side) {
        if (!Host.present()) {
            return Fake.embed.apply(texts, side);
        }
        Json answer = answered(Host.document(Host.embed(Host.block(Json.object().put("side", side).put("texts", texts)))));
        int dimension = (int) answer.get("dimension").integer();
        byte[] all = Host.bytes(answer.get("vectors").integer());
        if (dimension < 0 || all.length != 4L * dimension * texts.size()) {
            throw new ServiceException("invalid", "the host has not answered with a vector for each text");
        }
        ByteBuffer numbers = ByteBuffer.wrap(all).order(ByteOrder.LITTLE_ENDIAN);
        List<float[]> vectors = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            float[] vector = new float[dimension];
            for (int k = 0; k < dimension; k++) {
                vector[k] = numbers.getFloat(4 * (i * dimension + k));
            }
            vectors.add(vector);
        }
        return new Embedded(answer.get("model").text(), dimension, vectors);
    }

    /** Searches the first collection that is granted. The hits come best first. */
    public static List<Json> search(String text, int k) {
        return search(Json.object().put("text", text).put("k", k), null);
    }

    /** Searches with a document: collection, text, k, by, filter. A vector, if it is not null, is what is looked for. */
    public static List<Json> search(Json query, float[] vector) {
        if (!Host.present()) {
            return Fake.search.apply(vector == null ? query : query.copy().put("vector", vector));
        }
        Json asked = query.copy();
        if (vector != null) {
            ByteBuffer numbers = ByteBuffer.allocate(4 * vector.length).order(ByteOrder.LITTLE_ENDIAN);
            for (int i = 0; i < vector.length; i++) {
                numbers.putFloat(4 * i, vector[i]);
            }
            asked.put("vector", Host.block(numbers.array())).put("dimension", vector.length);
        }
        return answered(Host.document(Host.search(Host.block(asked)))).get("hits").elements();
    }

    /** Asks the first model that is granted. */
    public static Json llm(String prompt) {
        return llm(Json.object().put("messages", Json.list(Json.object().put("role", "user").put("content", prompt))));
    }

    /** Asks with a document: messages, model, schema, max_tokens, temperature. The answer has text, and json with a schema. */
    public static Json llm(Json request) {
        return answered(llmBatch(List.of(request)).get(0));
    }

    /** Asks up to 32 times at the same time. An answer may have the member error. */
    public static List<Json> llmBatch(List<Json> requests) {
        if (!Host.present()) {
            return requests.stream().map(Fake.llm).toList();
        }
        List<Json> answers = Host.document(Host.llm(Host.block(Json.object().put("requests", requests)))).get("responses").elements();
        if (answers.size() != requests.size()) {
            throw new ServiceException("invalid", "the host has not answered each request");
        }
        return answers;
    }
}
