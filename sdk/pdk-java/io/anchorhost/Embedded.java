package io.anchorhost;

import java.util.List;

/** Vectors of texts, in the order of the texts. Vectors of different models cannot be compared. */
public record Embedded(String model, int dimension, List<float[]> vectors) {
}
