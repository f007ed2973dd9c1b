package io.anchorhost;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What the host asks. Tests make one from a document: {@code Request.of("{\"items\": [{\"content\": \"a\"}]}")}.
 * All documents are in section 8 of ABI.md.
 */
public final class Request {
    private final Json document;
    private final Set<String> sent = new HashSet<>(); // columns that were sent, or of which the host knows
    private final boolean columns;
    private List<Item> items;

    Request(Json document) {
        this.document = document;
        columns = document.get("columns").isList();
        document.get("columns").elements().forEach(column -> sent.add(column.text()));
    }

    /** Returns the request that a document is. */
    public static Request of(String document) {
        return new Request(Json.parse(document));
    }

    /** Returns the request that a value is. */
    public static Request of(Json document) {
        return new Request(document);
    }

    /** Returns a member of the document, or ABSENT. */
    public Json get(String name) {
        return document.get(name);
    }

    /** Returns the settings of the step, which plugin.yaml describes. */
    public Json settings() {
        return document.get("settings");
    }

    /** Returns the text of the query, or "". */
    public String query() {
        return document.get("query").get("query_str").text();
    }

    /** Returns how many items are wanted at most, 0 if there is no bound. */
    public int topK() {
        return (int) Math.min(document.get("top_k").integer(), Integer.MAX_VALUE);
    }

    /** Returns the room in the window, in tokens. */
    public long tokensLeft() {
        return document.get("tokens_left").integer();
    }

    /** Returns the items. The row of an item is its place in this list. */
    public List<Item> items() {
        if (items == null) {
            List<Json> given = document.get("items").elements();
            List<Item> made = new ArrayList<>(given.size());
            for (Json each : given) {
                made.add(new Item(this, made.size(), each));
            }
            items = Collections.unmodifiableList(made);
        }
        return items;
    }

    // Says once of a column that it is read although it was not sent. The host knows the manifest, and
    // warns if it does not name the column.
    void reads(String column) {
        if (columns && sent.add(column)) {
            Log.warn("anchor: column " + column + " was not sent");
        }
    }

    /** Returns the document. */
    @Override
    public String toString() {
        return document.toString();
    }
}
