package abi

// Metadata is a set of named values: nil, bool, int64, float64, string, and
// []any and map[string]any of them. As JSON, whole numbers without fraction or
// exponent decode as int64 (beyond its range as float64) and floats always
// carry a fraction or an exponent, so that both survive the way there and back.
type Metadata map[string]any
