package io.anchorhost;

/** An item of a request. Columns that plugin.yaml does not list under reads are empty. */
public final class Item {
    private final Request request;
    private final int row;
    private final Json document;

    Item(Request request, int row, Json document) {
        this.request = request;
        this.row = row;
        this.document = document;
    }

    private Json column(String name, String member) {
        Json value = document.get(member);
        if (!value.exists()) {
            request.reads(name);
        }
        return value;
    }

    /** Returns the number that changes use, from 0 on. */
    public int row() {
        return row;
    }

    /** Returns the id. Ids need not be unique. */
    public String id() {
        return column("id", "id").text();
    }

    /** Returns the content. */
    public String text() {
        return column("text", "content").text();
    }

    /** Returns where the item comes from: memory, conversation, tool, retrieval or user. */
    public String source() {
        return column("source", "source").text();
    }

    /** Returns the score, 0 to 1. */
    public double score() {
        return column("score", "score").number();
    }

    /** Returns the priority, 1 to 10. Higher is kept first. */
    public int priority() {
        return (int) column("priority", "priority").integer();
    }

    /** Returns how many tokens the content has. */
    public long tokenCount() {
        return column("token_count", "token_count").integer();
    }

    /** Returns when the item came into being, in RFC 3339, or "" if that is unknown. */
    public String createdAt() {
        return column("created_at", "created_at").text();
    }

    /** Returns the metadata, an object, or ABSENT. Change a copy of it. */
    public Json metadata() {
        return column("metadata", "metadata");
    }

    /** Returns the vector, without numbers if there is none. */
    public float[] embedding() {
        Json list = column("embedding", "embedding");
        float[] vector = new float[list.size()];
        for (int i = 0; i < vector.length; i++) {
            vector[i] = (float) list.get(i).number();
        }
        return vector;
    }
}
