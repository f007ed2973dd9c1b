package io.anchorhost;

import java.nio.charset.StandardCharsets;

/** Runs the operations of a plugin. What plugin build writes calls it. */
public final class Guest {
    private static final int DONE = 0, NO_CHANGE = 1, FAILED = 2, MOST_LINES = 20, MOST_TEXT = 4000;
    private static String failure; // why the plugin could not start

    private Guest() {
    }

    /** An operation with an answer. */
    public interface Operation {
        Answer answer(Request request) throws Exception;
    }

    /** An operation without an answer. */
    public interface Listener {
        void hear(Request request) throws Exception;
    }

    /** What happens when the module starts. */
    public interface Start {
        void start() throws Exception;
    }

    /** Starts the plugin. If that fails, every call does. */
    public static void start(Start start) {
        try {
            Lines.begin();
            start.start();
        } catch (Throwable thrown) {
            failure = shown(thrown);
        }
    }

    public static int tell(Listener listener) {
        return run(request -> {
            listener.hear(request);
            return null;
        }, DONE);
    }

    public static int run(Operation operation) {
        return run(operation, NO_CHANGE);
    }

    private static int run(Operation operation, int without) {
        if (failure != null) {
            return fail(failure);
        }
        try {
            Host.reseed();
            Answer answer = operation.answer(new Request(Json.parse(Host.input())));
            if (answer == null) {
                return without;
            }
            byte[] bytes = answer.json().toString().getBytes(StandardCharsets.UTF_8);
            Host.outputSet(Host.block(bytes), bytes.length);
            return DONE;
        } catch (Throwable thrown) {
            return fail(shown(thrown));
        }
    }

    private static int fail(String text) {
        Host.errorSet(Host.block(text));
        return FAILED;
    }

    // Returns the class, the text and the plugin's own lines of what was thrown, and of its causes.
    static String shown(Throwable thrown) {
        StringBuilder out = new StringBuilder();
        for (int n = 0; thrown != null && n < 5; n++) {
            out.append(n == 0 ? "" : "\ncaused by ").append(name(thrown));
            String text = thrown.getMessage();
            if (text != null && !text.isEmpty()) {
                out.append(": ").append(text.length() > MOST_TEXT ? text.substring(0, MOST_TEXT) + " …" : text);
            }
            lines(out, thrown);
            thrown = thrown.getCause();
        }
        return out.toString();
    }

    // Returns the class of what was thrown. Those that the runtime throws by itself have no name in a module.
    private static String name(Throwable thrown) {
        String name = thrown.getClass().getName();
        return name != null ? name
            : thrown instanceof ArrayIndexOutOfBoundsException ? "java.lang.ArrayIndexOutOfBoundsException"
            : thrown instanceof NullPointerException ? "java.lang.NullPointerException"
            : thrown instanceof ClassCastException ? "java.lang.ClassCastException"
            : thrown instanceof ArithmeticException ? "java.lang.ArithmeticException" : "exception";
    }

    private static void lines(StringBuilder out, Throwable thrown) {
        int n = 0;
        String last = "";
        for (StackTraceElement each : thrown.getStackTrace()) {
            String line = "\nat " + each.getClassName() + "." + each.getMethodName() + "(" + each.getFileName() + ":" + each.getLineNumber() + ")";
            if (hidden(each) || line.equals(last)) {
                continue;
            }
            if (++n > MOST_LINES) {
                return;
            }
            out.append(last = line);
        }
    }

    private static boolean hidden(StackTraceElement each) {
        String name = each.getClassName();
        for (String prefix : new String[] {"io.anchorhost.", "java.", "org.teavm.", "AnchorExports"}) {
            if (name.startsWith(prefix)) {
                return true;
            }
        }
        return name.isEmpty() || name.contains("AnchorExports") || each.getFileName() == null;
    }
}
