package io.anchorhost;

/**
 * What a filter, a reranker, a processor or a retriever wants done. Rows are those of the items. Rows that are
 * not mentioned stay as they are, but see {@link #keep}.
 */
public final class Changes implements Answer {
    private final java.util.TreeSet<Integer> kept = new java.util.TreeSet<>(), dropped = new java.util.TreeSet<>();
    private final java.util.TreeMap<Integer, Json> edits = new java.util.TreeMap<>();
    private final Json scores = Json.list(), items = Json.list(), order = Json.list();
    private final int rows;
    private boolean keeping;

    /** Makes changes of the items of a request. */
    public Changes(Request request) {
        rows = request.get("items").size();
    }

    private int row(int row) {
        if (row < 0 || row >= rows) {
            throw new IndexOutOfBoundsException("row " + row + " does not exist, there are " + rows);
        }
        return row;
    }

    /** This row stays. Rows that neither keep nor drop names go. */
    public Changes keep(int row) {
        keeping = true;
        kept.add(row(row));
        dropped.remove(row);
        return this;
    }

    /** No row stays, apart from those that keep names. */
    public Changes keepNone() {
        keeping = true;
        return this;
    }

    /** This row goes. All others stay, unless they are dropped too or keep was called. */
    public Changes drop(int row) {
        dropped.add(row(row));
        kept.remove(row);
        return this;
    }

    private Json edit(int row) {
        return edits.computeIfAbsent(row(row), n -> Json.object().put("row", n));
    }

    /** Replaces the content of a row. */
    public Changes setText(int row, String text) {
        edit(row).put("content", text);
        return this;
    }

    /** Replaces the metadata of a row, all of it. */
    public Changes setMetadata(int row, Json metadata) {
        edit(row).put("metadata", metadata);
        return this;
    }

    /** Replaces the priority of a row, 1 to 10. */
    public Changes setPriority(int row, int priority) {
        edit(row).put("priority", priority);
        return this;
    }

    /** Gives a row a new score, 0 to 1. Once per row. The host sorts by scores. */
    public Changes setScore(int row, double score) {
        if (!(score >= 0 && score <= 1)) {
            throw new IllegalArgumentException("score " + score + " is not within 0..1");
        }
        scores.add(Json.object().put("row", row(row)).put("score", score));
        return this;
    }

    /** Adds an item. Its row, for {@link #order}, is the next one after all rows so far. */
    public Changes add(NewItem item) {
        items.add(item);
        return this;
    }

    /** Puts a row next in the new order. All rows that stay must be named, each once. */
    public Changes order(int row) {
        order.add(row);
        return this;
    }

    @Override
    public Json json() {
        Json all = Json.object();
        if (keeping || !dropped.isEmpty()) {
            Json rest = Json.list();
            for (int row = 0; row < rows; row++) {
                if (keeping ? kept.contains(row) : !dropped.contains(row)) {
                    rest.add(row);
                }
            }
            all.put("keep", rest);
        }
        if (!edits.isEmpty()) {
            all.put("edits", edits.values());
        }
        for (Object[] member : new Object[][] {{"scores", scores}, {"items", items}, {"order", order}}) {
            if (((Json) member[1]).size() > 0) {
                all.put((String) member[0], member[1]);
            }
        }
        return all;
    }

    /** Returns the document. */
    @Override
    public String toString() {
        return json().toString();
    }
}
