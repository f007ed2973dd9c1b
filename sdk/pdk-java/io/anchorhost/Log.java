package io.anchorhost;

/** The log of the host. In a test under plain Java it is {@link Fake#log}. */
public final class Log {
    private Log() {
    }

    public static void debug(String text) {
        write("debug", text);
    }

    public static void info(String text) {
        write("info", text);
    }

    public static void warn(String text) {
        write("warn", text);
    }

    public static void error(String text) {
        write("error", text);
    }

    private static void write(String level, String text) {
        if (!Host.present()) {
            Fake.log.add(level + ": " + text);
            return;
        }
        long block = Host.block(text.isEmpty() ? " " : text);
        switch (level) {
            case "debug" -> Host.logDebug(block);
            case "info" -> Host.logInfo(block);
            case "warn" -> Host.logWarn(block);
            default -> Host.logError(block);
        }
    }
}
