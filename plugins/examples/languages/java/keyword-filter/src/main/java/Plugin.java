import io.anchorhost.Changes;
import io.anchorhost.Item;
import io.anchorhost.Request;

import java.util.ArrayList;
import java.util.List;
import java.util.StringTokenizer;

/** Keeps the items that contain any, or all, of the keywords. */
public final class Plugin {
    public static Changes filter(Request request) {
        List<char[]> words = new ArrayList<>();
        StringTokenizer keywords = new StringTokenizer(request.settings().get("keywords").text(), " ");
        while (keywords.hasMoreTokens()) {
            words.add(lower(keywords.nextToken()));
        }
        if (words.isEmpty()) {
            return null; // no change
        }
        boolean all = request.settings().get("match").text().equals("all");
        Changes changes = new Changes(request).keepNone();
        for (Item item : request.items()) {
            if (matches(lower(item.text()), words, all)) {
                changes.keep(item.row());
            }
        }
        return changes;
    }

    private static boolean matches(char[] text, List<char[]> words, boolean all) {
        for (char[] word : words) {
            if (contains(text, word) != all) {
                return !all;
            }
        }
        return all;
    }

    private static boolean contains(char[] text, char[] word) {
        char first = word[0];
        for (int i = 0; i <= text.length - word.length; i++) {
            if (text[i] == first) {
                int n = 1;
                while (n < word.length && text[i + n] == word[n]) {
                    n++;
                }
                if (n == word.length) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Lowers letters of ASCII only. String.toLowerCase would change others too. */
    private static char[] lower(String text) {
        char[] chars = text.toCharArray();
        for (int i = 0; i < chars.length; i++) {
            if (chars[i] >= 'A' && chars[i] <= 'Z') {
                chars[i] += 'a' - 'A';
            }
        }
        return chars;
    }
}
