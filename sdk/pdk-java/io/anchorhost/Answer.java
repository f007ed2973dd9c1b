package io.anchorhost;

/** What an operation answers: {@link Changes}, or a {@link Json} document. null changes nothing. */
public interface Answer {
    /** Returns the document for the host. */
    Json json();
}
