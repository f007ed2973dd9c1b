package io.anchorhost;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * A response over HTTP. The status is 0 if there is none, and error then says why: timeout, dns, connect, certificate,
 * tls, reset, short_body, too_large or network. The names of headers are in lower case.
 */
public record HttpResponse(int status, Map<String, String> headers, byte[] body, String error) {
    /** Makes the response of a test. */
    public static HttpResponse of(int status, String body) {
        return new HttpResponse(status, Map.of(), body.getBytes(StandardCharsets.UTF_8), "");
    }

    public String text() {
        return new String(body, StandardCharsets.UTF_8);
    }

    public Json json() {
        return Json.parse(body);
    }
}
