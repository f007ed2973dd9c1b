package io.anchorhost;

/** Says that a service has no answer. */
public final class ServiceException extends RuntimeException {
    private final String word;

    public ServiceException(String word, String message) {
        super(message.isEmpty() ? word : message);
        this.word = switch (word) {
            case "timeout", "refused", "invalid", "budget", "not_found" -> word;
            default -> "unavailable";
        };
    }

    /** Returns timeout, unavailable, refused, invalid, budget or not_found. */
    public String word() {
        return word;
    }
}
