package io.anchorhost;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** What answers a plugin that a test runs under plain Java. Nothing of it is in a module. */
public final class Fake {
    /** The lines of the log, as "warn: text". */
    public static List<String> log;
    public static Map<String, String> config;
    public static Map<String, byte[]> kv;
    public static Function<HttpRequest, HttpResponse> http;
    /** Gets the texts and the side. */
    public static BiFunction<List<String>, String, Embedded> embed;
    /** Gets the document of a search, and returns the hits. */
    public static Function<Json, List<Json>> search;
    /** Gets the document of a request to a model, and returns the response. */
    public static Function<Json, Json> llm;
    public static ToLongFunction<String> countTokens;

    static {
        reset();
    }

    private Fake() {
    }

    /** Forgets everything. */
    public static void reset() {
        log = new ArrayList<>();
        config = new HashMap<>();
        kv = new HashMap<>();
        http = request -> missing("http");
        embed = (texts, side) -> missing("embed");
        search = query -> missing("search");
        llm = request -> missing("llm");
        countTokens = text -> text.isBlank() ? 0 : text.strip().split("\\s+").length;
    }

    private static <T> T missing(String name) {
        throw new IllegalStateException("set Fake." + name + " to a function that answers in this test");
    }
}
