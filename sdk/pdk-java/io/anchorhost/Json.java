package io.anchorhost;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A value of JSON. Members that are not there are {@link #ABSENT}, so that questions can be chained:
 * {@code request.get("query").get("query_str").text()}. Integers of 64 bits stay exact.
 */
public final class Json implements Answer {
    private static final int NONE = 0, NULL = 1, BOOL = 2, INTEGER = 3, NUMBER = 4, TEXT = 5, LIST = 6, OBJECT = 7;
    private static final int INDEXED = 16; // objects with more members have an index

    /** What a member is that is not there. */
    public static final Json ABSENT = new Json(NONE, null, 0);

    private final int kind;
    private final long bits; // of BOOL, INTEGER and NUMBER; begin and end of a TEXT that is not decoded yet
    private Object value; // String or byte[] of TEXT; List<Json> of LIST and OBJECT
    private List<String> names; // of OBJECT
    private TreeMap<String, Integer> index;

    private Json(int kind, Object value, long bits) {
        this.kind = kind;
        this.value = value;
        this.bits = bits;
    }

    /** Reads a document. Throws JsonException with the place of what is wrong. */
    public static Json parse(String text) {
        return parse(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Reads a document in UTF-8. The bytes must not change afterwards. */
    public static Json parse(byte[] utf8) {
        return new JsonReader(utf8).document();
    }

    /** Returns an empty object, for {@link #put}. */
    public static Json object() {
        Json made = new Json(OBJECT, new ArrayList<Json>(), 0);
        made.names = new ArrayList<>();
        return made;
    }

    /** Returns a list of values, for {@link #add}. */
    public static Json list(Object... values) {
        Json made = new Json(LIST, new ArrayList<Json>(), 0);
        for (Object each : values) {
            made.add(each);
        }
        return made;
    }

    /** Turns null, a Boolean, a number, a text, a Json, an Answer, a collection, a map or an array of floats into JSON. */
    public static Json of(Object given) {
        if (given == null) {
            return new Json(NULL, null, 0);
        } else if (given instanceof Answer answer) {
            return answer.json();
        } else if (given instanceof CharSequence text) {
            return new Json(TEXT, text.toString(), 0);
        } else if (given instanceof Boolean bool) {
            return new Json(BOOL, null, bool ? 1 : 0);
        } else if (given instanceof Double || given instanceof Float) {
            return ofNumber(((Number) given).doubleValue());
        } else if (given instanceof Number integer) {
            return ofInteger(integer.longValue());
        } else if (given instanceof Iterable<?> values) {
            Json made = list();
            values.forEach(made::add);
            return made;
        } else if (given instanceof Map<?, ?> members) {
            Json made = object();
            members.forEach((name, member) -> made.put(String.valueOf(name), member));
            return made;
        } else if (given instanceof float[] floats) {
            Json made = list();
            for (float each : floats) {
                made.add(each);
            }
            return made;
        }
        throw new JsonException("a " + given.getClass().getName() + " has no form in JSON");
    }

    static Json ofNumber(double given) {
        if (Double.isNaN(given) || Double.isInfinite(given)) {
            throw new JsonException(given + " has no form in JSON");
        }
        return new Json(NUMBER, null, Double.doubleToLongBits(given));
    }

    static Json ofInteger(long given) {
        return new Json(INTEGER, null, given);
    }

    /** A text that is decoded when it is asked for. */
    static Json ofText(byte[] utf8, int from, int to) {
        return new Json(TEXT, utf8, (long) from << 32 | to);
    }

    /** Sets a member of an object, and returns the object. */
    public Json put(String name, Object given) {
        if (kind != OBJECT) {
            throw new JsonException("put " + name + ": this is no object");
        }
        int at = find(name);
        if (at >= 0) {
            values().set(at, of(given));
        } else {
            append(name, of(given));
        }
        return this;
    }

    // Adds a member that is new.
    private void append(String name, Json member) {
        if (index != null) {
            index.put(name, names.size());
        }
        names.add(name);
        values().add(member);
    }

    /** Appends to a list, and returns the list. */
    public Json add(Object given) {
        if (kind != LIST) {
            throw new JsonException("add: this is no list");
        }
        values().add(of(given));
        return this;
    }

    // Puts what a reader has read. Of members that occur twice the last one counts.
    void read(String name, Json member) {
        if (find(name) >= 0) {
            put(name, member);
        } else {
            append(name, member);
        }
    }

    void read(Json element) {
        values().add(element);
    }

    @SuppressWarnings("unchecked")
    private List<Json> values() {
        return (List<Json>) value;
    }

    private int find(String name) {
        int n = names.size();
        if (n <= INDEXED) {
            for (int i = 0; i < n; i++) {
                if (names.get(i).equals(name)) {
                    return i;
                }
            }
            return -1;
        }
        if (index == null) {
            index = new TreeMap<>();
            for (int i = 0; i < n; i++) {
                index.put(names.get(i), i);
            }
        }
        Integer at = index.get(name);
        return at == null ? -1 : at;
    }

    /** Returns the member with a name, or ABSENT. */
    public Json get(String name) {
        int at = kind == OBJECT ? find(name) : -1;
        return at < 0 ? ABSENT : values().get(at);
    }

    /** Returns an element of a list, or ABSENT. */
    public Json get(int i) {
        return kind == LIST && i >= 0 && i < values().size() ? values().get(i) : ABSENT;
    }

    /** Returns how many elements or members there are, 0 for other values. */
    public int size() {
        return kind >= LIST ? values().size() : 0;
    }

    /** Returns the elements of a list, none for other values. */
    public List<Json> elements() {
        return kind == LIST ? java.util.Collections.unmodifiableList(values()) : List.of();
    }

    /** Returns the names of the members of an object, none for other values. */
    public List<String> names() {
        return kind == OBJECT ? java.util.Collections.unmodifiableList(names) : List.of();
    }

    /** Returns whether there is a value, null included. */
    public boolean exists() {
        return kind != NONE;
    }

    public boolean isNull() {
        return kind == NULL;
    }

    public boolean isText() {
        return kind == TEXT;
    }

    public boolean isBool() {
        return kind == BOOL;
    }

    /** Returns whether this is a number without fraction that fits 64 bits. */
    public boolean isInteger() {
        return kind == INTEGER;
    }

    public boolean isNumber() {
        return kind == INTEGER || kind == NUMBER;
    }

    public boolean isList() {
        return kind == LIST;
    }

    public boolean isObject() {
        return kind == OBJECT;
    }

    /** Returns the text, or "" if this is none. */
    public String text() {
        return text("");
    }

    /** Returns the text, or another one if this is none. */
    public String text(String otherwise) {
        if (kind != TEXT) {
            return otherwise;
        }
        if (value instanceof byte[] utf8) {
            value = JsonReader.decode(utf8, (int) (bits >> 32), (int) bits);
        }
        return (String) value;
    }

    /** Returns the integer, or 0 if this is none. */
    public long integer() {
        return integer(0);
    }

    /** Returns the integer, or another one if this is none. A float without a fraction is one. */
    public long integer(long otherwise) {
        if (kind == NUMBER) {
            double given = Double.longBitsToDouble(bits);
            return given == (long) given && Math.abs(given) < 0x1p63 ? (long) given : otherwise;
        }
        return kind == INTEGER ? bits : otherwise;
    }

    /** Returns the number, or 0 if this is none. */
    public double number() {
        return number(0);
    }

    /** Returns the number, or another one if this is none. */
    public double number(double otherwise) {
        return kind == INTEGER ? bits : kind == NUMBER ? Double.longBitsToDouble(bits) : otherwise;
    }

    /** Returns the truth value, or another one if this is none. */
    public boolean bool(boolean otherwise) {
        return kind == BOOL ? bits != 0 : otherwise;
    }

    /** Returns a copy that can be changed without changing this value. */
    public Json copy() {
        if (kind < LIST) {
            return this;
        }
        Json made = kind == LIST ? list() : object();
        for (int i = 0; i < values().size(); i++) {
            Json each = values().get(i).copy();
            if (kind == LIST) {
                made.read(each);
            } else {
                made.append(names.get(i), each);
            }
        }
        return made;
    }

    @Override
    public Json json() {
        return this;
    }

    /** Returns the document. */
    @Override
    public String toString() {
        StringBuilder out = new StringBuilder();
        write(out, 0);
        return out.toString();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Json json && json.toString().equals(toString());
    }

    @Override
    public int hashCode() {
        return toString().hashCode();
    }

    private void write(StringBuilder out, int depth) {
        if (depth > JsonReader.DEEPEST) {
            throw new JsonException("a value nests more than " + JsonReader.DEEPEST + " levels");
        }
        switch (kind) {
            case NONE, NULL -> out.append("null");
            case BOOL -> out.append(bits != 0);
            case INTEGER -> out.append(bits);
            case NUMBER -> out.append(Double.longBitsToDouble(bits));
            case TEXT -> quote(out, text());
            default -> writeAll(out, depth);
        }
    }

    private void writeAll(StringBuilder out, int depth) {
        out.append(kind == LIST ? '[' : '{');
        for (int i = 0; i < values().size(); i++) {
            if (i > 0) {
                out.append(',');
            }
            if (kind == OBJECT) {
                quote(out, names.get(i));
                out.append(':');
            }
            values().get(i).write(out, depth + 1);
        }
        out.append(kind == LIST ? ']' : '}');
    }

    // Writes a text. Half of a character becomes U+FFFD, as the host takes whole ones only.
    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append("\\u00").append(c < 16 ? '0' : '1').append("0123456789abcdef".charAt(c & 15));
            } else if (!Character.isSurrogate(c)) {
                out.append(c);
            } else if (Character.isHighSurrogate(c) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))) {
                out.append(c).append(text.charAt(++i));
            } else {
                out.append('\ufffd');
            }
        }
        out.append('"');
    }
}
