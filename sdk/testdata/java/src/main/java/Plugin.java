import io.anchorhost.Json;
import io.anchorhost.JsonException;
import io.anchorhost.Request;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;

/** Does what runtimes of languages get wrong. */
public final class Plugin {
    private static final List<String> CLOSED = new ArrayList<>();
    private static int calls;

    private record Resource(String name) implements AutoCloseable {
        @Override
        public void close() {
            CLOSED.add(name);
        }
    }

    public static Json classify(Request request) throws Exception {
        return Json.object().put("label", tried(request.query()));
    }

    private static String tried(String what) throws Exception {
        return switch (what) {
            case "with" -> with();
            case "raise" -> fail();
            case "null" -> "" + nothing(CLOSED).length();
            case "cast" -> cast(CLOSED);
            case "bounds" -> "" + (new int[3])[calls + 7];
            case "deep" -> deep("[".repeat(100_000));
            case "deep_enough" -> "" + Json.parse("[".repeat(450) + "]".repeat(450)).toString().length();
            case "recursion" -> "" + down(0);
            case "random" -> Math.random() + " " + new Random().nextLong() + " " + UUID.randomUUID();
            case "count" -> "" + ++calls;
            case "print" -> print();
            case "half" -> "\ud800";
            case "integers" -> Json.parse("[9007199254740993,-9223372036854775808,1.0,0.1,1e21]").toString();
            case "garbage" -> garbage();
            case "flood" -> flood();
            case "zero" -> "" + 1 / (what.length() - 4);
            case "rest" -> "" + 7 % (what.length() - 4);
            default -> hoard();
        };
    }

    private static String with() {
        CLOSED.clear();
        try (Resource a = new Resource("a"); Resource b = new Resource("b")) {
            throw new IllegalArgumentException("inside of " + a.name() + b.name());
        } catch (IllegalArgumentException error) {
            return error.getMessage() + " " + CLOSED;
        }
    }

    private static String fail() {
        try (Resource a = new Resource("a")) {
            throw new IllegalArgumentException("inside of " + a.name(), new Exception("why"));
        }
    }

    private static String nothing(List<String> list) {
        return list.size() > 1000 ? "much" : null;
    }

    private static String cast(Object list) {
        return (String) list;
    }

    private static String deep(String text) {
        try {
            return Json.parse(text).toString();
        } catch (JsonException error) {
            return error.getMessage();
        }
    }

    private static int down(int n) {
        return n < 0 ? 0 : 1 + down(n + 1) + down(n + 2);
    }

    private static String print() {
        System.out.println("one\ntwo 3");
        System.out.println(Math.floor(-1.5) + Math.sqrt(2) + Math.log(3) + Math.pow(2, 0.5) + Math.exp(1) + (System.nanoTime() > 0 ? 1 : 0));
        return "printed";
    }

    private static String garbage() {
        int total = 0;
        for (int i = 0; i < 2_000; i++) {
            total += new byte[100_000 + i].length > 0 ? 1 : 0;
        }
        return "" + total;
    }

    private static String flood() {
        Set<String> keys = new HashSet<>();
        for (int i = 0; i < 1 << 17; i++) {
            StringBuilder key = new StringBuilder();
            for (int bit = 0; bit < 17; bit++) {
                key.append((i >> bit & 1) == 0 ? "Aa" : "BB");
            }
            keys.add(key.toString());
        }
        return "" + keys.size();
    }

    private static String hoard() {
        List<byte[]> all = new ArrayList<>();
        while (all.size() >= 0) {
            all.add(new byte[1 << 20]);
        }
        return "";
    }
}
