package retrieve

// Op compares a field with values.
type Op string

// The comparisons.
const (
	// OpEqual holds if the field has one of the values.
	OpEqual Op = "="
	// OpNotEqual holds if the field has none of the values.
	OpNotEqual Op = "!="
	// OpPrefix holds if the field begins with one of the values.
	OpPrefix Op = "prefix"
	// OpAtLeast and OpAtMost compare numbers as numbers, times as times, and everything
	// else as texts. They take one value.
	OpAtLeast Op = ">="
	OpAtMost  Op = "<="
)

// Condition is a part of a filter.
type Condition struct {
	// Field is id, path, title, hash, time (RFC 3339), heading (the headings, joined by
	// " > "), page, line (the first), or a name in the document's Meta. A field that a
	// chunk does not have is empty: "" for OpEqual, and OpAtLeast and OpAtMost never hold.
	Field string `json:"field"`
	Op    Op     `json:"op"`
	// Values are one or more.
	Values []string `json:"values"`
}
