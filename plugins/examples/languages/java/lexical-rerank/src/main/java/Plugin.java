import io.anchorhost.Changes;
import io.anchorhost.Item;
import io.anchorhost.Request;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Rates items by the words of the query that they contain. */
public final class Plugin {
    private static final int MAX_TERMS = 32;

    private interface Words {
        void word(String word);
    }

    public static Changes rerank(Request request) {
        Map<String, Integer> terms = new HashMap<>();
        words(request.query(), word -> {
            if (terms.size() < MAX_TERMS) {
                terms.putIfAbsent(word, terms.size());
            }
        });
        List<Item> items = request.items();
        int[][] counts = new int[items.size()][terms.size()];
        int[] lengths = new int[items.size()];
        long total = 0;
        for (int row = 0; row < lengths.length; row++) {
            int[] of = counts[row];
            int[] length = {0};
            words(items.get(row).text(), word -> {
                length[0]++;
                Integer term = terms.get(word);
                if (term != null) {
                    of[term]++;
                }
            });
            total += lengths[row] = length[0];
        }
        if (terms.isEmpty() || total == 0) {
            return null; // no change
        }
        double[] weights = weights(counts, terms.size());
        double whole = 0;
        for (double weight : weights) {
            whole += weight;
        }
        double average = (double) total / lengths.length;
        Changes changes = new Changes(request);
        for (int row = 0; row < lengths.length; row++) {
            double norm = 1.2 * (0.25 + 0.75 * lengths[row] / average);
            double score = 0;
            for (int t = 0; t < weights.length; t++) {
                score += weights[t] * counts[row][t] / (counts[row][t] + norm);
            }
            changes.setScore(row, score / whole);
        }
        return changes;
    }

    private static double[] weights(int[][] counts, int terms) {
        double[] weights = new double[terms];
        for (int t = 0; t < terms; t++) {
            int having = 0;
            for (int[] of : counts) {
                having += of[t] > 0 ? 1 : 0;
            }
            weights[t] = 1 - (double) having / (counts.length + 1);
        }
        return weights;
    }

    /** Finds the words: letters and digits of ASCII, lowered, and all characters beyond ASCII. */
    private static void words(String text, Words found) {
        StringBuilder word = new StringBuilder();
        for (int i = 0; i <= text.length(); i++) {
            char c = i < text.length() ? text.charAt(i) : ' ';
            if (c >= 'A' && c <= 'Z') {
                c += 'a' - 'A';
            }
            if (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80) {
                word.append(c);
            } else if (!word.isEmpty()) {
                found.word(word.toString());
                word.setLength(0);
            }
        }
    }
}
