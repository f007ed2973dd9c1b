package io.anchorhost;

/** Says that a text is no JSON, or that a value has no form in JSON. */
public final class JsonException extends RuntimeException {
    JsonException(String message) {
        super(message);
    }
}
