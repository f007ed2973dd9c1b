package io.anchorhost;

/** An item that a plugin adds. All but the content may stay unset. */
public final class NewItem implements Answer {
    private final Json document = Json.object();

    public NewItem(String content) {
        document.put("content", content);
    }

    /** Names the item from call to call. Without it the host names it by its content. */
    public NewItem key(String key) {
        return set("key", key);
    }

    /** Says where it comes from. Without it the default of the step holds. */
    public NewItem source(String source) {
        return set("source", source);
    }

    /** 0 to 1. */
    public NewItem score(double score) {
        return set("score", score);
    }

    /** 1 to 10. Without it the default of the source holds. */
    public NewItem priority(int priority) {
        return set("priority", priority);
    }

    public NewItem metadata(Json metadata) {
        return set("metadata", metadata);
    }

    /** In RFC 3339. */
    public NewItem createdAt(String time) {
        return set("created_at", time);
    }

    private NewItem set(String name, Object value) {
        document.put(name, value);
        return this;
    }

    @Override
    public Json json() {
        return document;
    }
}
