package io.anchorhost;

import java.nio.charset.StandardCharsets;

/** Reads one document of JSON. */
final class JsonReader {
    /** How many levels a value may nest. The stack of a module is small. */
    static final int DEEPEST = 500;

    private final byte[] in;
    private int at;
    private final String[] seen = new String[64]; // names that occurred, by a hash

    JsonReader(byte[] utf8) {
        in = utf8;
    }

    Json document() {
        Json read = value(0);
        if (peek() != -1) {
            throw wrong("data after the document");
        }
        return read;
    }

    private JsonException wrong(String what) {
        return new JsonException("JSON: byte " + at + ": " + what);
    }

    // Skips white space, and returns the next byte, or -1 at the end.
    private int peek() {
        while (at < in.length) {
            byte c = in[at];
            if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
                return c & 0xff;
            }
            at++;
        }
        return -1;
    }

    private Json value(int depth) {
        if (depth > DEEPEST) {
            throw wrong("more than " + DEEPEST + " levels");
        }
        switch (peek()) {
            case '{':
                return object(depth);
            case '[':
                return list(depth);
            case '"':
                int from = at + 1;
                int to = text();
                return Json.ofText(in, from, to);
            case 't':
                return word("true", Json.of(true));
            case 'f':
                return word("false", Json.of(false));
            case 'n':
                return word("null", Json.of(null));
            case -1:
                throw wrong("the document ends too early");
            default:
                return number();
        }
    }

    private Json word(String word, Json value) {
        for (int i = 0; i < word.length(); i++, at++) {
            if (at >= in.length || in[at] != word.charAt(i)) {
                throw wrong("no value");
            }
        }
        return value;
    }

    private Json object(int depth) {
        Json made = Json.object();
        at++;
        if (peek() == '}') {
            at++;
            return made;
        }
        while (true) {
            if (peek() != '"') {
                throw wrong("no name of a member");
            }
            int from = at + 1;
            String name = name(from, text());
            if (peek() != ':') {
                throw wrong("no colon");
            }
            at++;
            made.read(name, value(depth + 1));
            if (last('}')) {
                return made;
            }
        }
    }

    private Json list(int depth) {
        Json made = Json.list();
        at++;
        if (peek() == ']') {
            at++;
            return made;
        }
        while (true) {
            made.read(value(depth + 1));
            if (last(']')) {
                return made;
            }
        }
    }

    // Takes a comma, or what ends a list or an object.
    private boolean last(char end) {
        int c = peek();
        if (c != ',' && c != end) {
            throw wrong("neither a comma nor " + end);
        }
        at++;
        return c == end;
    }

    // Reads a text, and returns where it ends. Its escapes are checked.
    private int text() {
        byte[] bytes = in;
        int i = at + 1;
        for (; i < bytes.length; i++) {
            byte c = bytes[i];
            if (c == '"') {
                at = i + 1;
                return i;
            }
            if (c == '\\') {
                i = escape(i + 1);
            } else if (c >= 0 && c < ' ') {
                at = i;
                throw wrong("a control character in a text");
            }
        }
        at = i;
        throw wrong("the document ends in a text");
    }

    // Checks the escape whose letter is at i, and returns where it ends.
    private int escape(int i) {
        at = i;
        if (i >= in.length) {
            throw wrong("the document ends in a text");
        }
        if (in[i] != 'u') {
            if ("\"\\/bfnrt".indexOf(in[i]) < 0) {
                throw wrong("no such escape");
            }
            return i;
        }
        for (int k = 1; k <= 4; k++) {
            if (i + k >= in.length || Character.digit((char) (in[i + k] & 0xff), 16) < 0) {
                throw wrong("an escape without four digits");
            }
        }
        return i + 4;
    }

    // Returns the name at a place. Names repeat, so most are there already.
    private String name(int from, int to) {
        int n = to - from;
        if (n == 0) {
            return "";
        }
        int slot = (n * 31 + in[from] * 7 + in[to - 1]) & 63;
        String known = seen[slot];
        if (known != null && same(known, from, n)) {
            return known;
        }
        return seen[slot] = decode(in, from, to);
    }

    private boolean same(String known, int from, int n) {
        if (known.length() != n) {
            return false;
        }
        for (int i = 0; i < n; i++) {
            byte c = in[from + i];
            if (c < 0 || c == '\\' || known.charAt(i) != c) {
                return false;
            }
        }
        return true;
    }

    private Json number() {
        int from = at;
        boolean integer = true;
        if (at < in.length && in[at] == '-') {
            at++;
        }
        int digits = at;
        digits();
        if (in[digits] == '0' && at > digits + 1) {
            throw wrong("a number begins with 0");
        }
        if (at < in.length && in[at] == '.') {
            integer = false;
            at++;
            digits();
        }
        if (at < in.length && (in[at] | 32) == 'e') {
            integer = false;
            at++;
            if (at < in.length && (in[at] == '-' || in[at] == '+')) {
                at++;
            }
            digits();
        }
        if (integer && at - digits <= 18) {
            return Json.ofInteger(small(from, digits));
        }
        String text = new String(in, from, at - from, StandardCharsets.US_ASCII);
        if (integer) {
            try {
                return Json.ofInteger(Long.parseLong(text));
            } catch (NumberFormatException e) {
                // it does not fit, so it is a float
            }
        }
        return Json.ofNumber(Double.parseDouble(text));
    }

    private long small(int from, int digits) {
        long n = 0;
        for (int i = digits; i < at; i++) {
            n = 10 * n + in[i] - '0';
        }
        return from == digits ? n : -n;
    }

    private void digits() {
        int from = at;
        while (at < in.length && in[at] >= '0' && in[at] <= '9') {
            at++;
        }
        if (at == from) {
            throw wrong("no value");
        }
    }

    /** Returns a text that was read, without its escapes. */
    static String decode(byte[] in, int from, int to) {
        int i = from;
        while (i < to && in[i] != '\\') {
            i++;
        }
        if (i == to) {
            return new String(in, from, to - from, StandardCharsets.UTF_8);
        }
        StringBuilder out = new StringBuilder(to - from);
        int begin = from;
        for (; i < to; i++) {
            if (in[i] != '\\') {
                continue;
            }
            out.append(new String(in, begin, i - begin, StandardCharsets.UTF_8));
            i++;
            switch (in[i]) {
                case 'u' -> {
                    out.append((char) Integer.parseInt(new String(in, i + 1, 4, StandardCharsets.US_ASCII), 16));
                    i += 4;
                }
                case 'b' -> out.append('\b');
                case 'f' -> out.append('\f');
                case 'n' -> out.append('\n');
                case 'r' -> out.append('\r');
                case 't' -> out.append('\t');
                default -> out.append((char) in[i]);
            }
            begin = i + 1;
        }
        return out.append(new String(in, begin, to - begin, StandardCharsets.UTF_8)).toString();
    }
}
