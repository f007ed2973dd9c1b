package io.anchorhost;

import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** A request over HTTP: {@code new HttpRequest("https://api.example.com/v1").json(Json.object().put("q", "fox"))}. */
public final class HttpRequest {
    private final Json document = Json.object(), headers = Json.object();
    private byte[] body = {};

    public HttpRequest(String url) {
        document.put("url", url);
    }

    /** Without it, the method is GET, or POST with a body. */
    public HttpRequest method(String method) {
        document.put("method", method);
        return this;
    }

    public HttpRequest header(String name, String value) {
        headers.put(name, value);
        return this;
    }

    public HttpRequest body(byte[] bytes) {
        body = bytes.clone();
        return this;
    }

    public HttpRequest body(String text) {
        body = text.getBytes(StandardCharsets.UTF_8);
        return this;
    }

    /** Sets the body and the header content-type. */
    public HttpRequest json(Json json) {
        return header("content-type", "application/json").body(json.toString());
    }

    /** A request that takes longer has no response. */
    public HttpRequest timeout(Duration time) {
        document.put("timeout_ms", Math.max(1, time.toMillis()));
        return this;
    }

    /** Returns the URL. */
    public String url() {
        return document.get("url").text();
    }

    /** Returns the body. */
    public byte[] body() {
        return body;
    }

    /** Returns the document for the host, without the body. */
    public Json json() {
        Json made = document.copy();
        if (!made.get("method").exists()) {
            made.put("method", body.length > 0 ? "POST" : "GET");
        }
        return headers.size() > 0 ? made.put("headers", headers) : made;
    }
}
