package io.anchorhost;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Writes each line of System.out and System.err to the log. */
final class Lines extends OutputStream {
    private static final int LONGEST = 4096;
    private final boolean warning;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();

    private Lines(boolean warning) {
        this.warning = warning;
    }

    /** Begins to. */
    static void begin() {
        System.setOut(new PrintStream(new Lines(false), true));
        System.setErr(new PrintStream(new Lines(true), true));
    }

    @Override
    public void write(int b) {
        if (b != '\n') {
            line.write(b);
        }
        if (b == '\n' || line.size() >= LONGEST) {
            String text = new String(line.toByteArray(), StandardCharsets.UTF_8);
            line.reset();
            if (warning) {
                Log.warn(text);
            } else {
                Log.info(text);
            }
        }
    }
}
