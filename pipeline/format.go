package pipeline

import "context"

// Formatter turns a filled window into the document a model API takes.
type Formatter interface {
	// FormatType names the format, such as "anthropic".
	FormatType() string
	// Format returns a string or a value that encoding/json can marshal.
	Format(ctx context.Context, w *Window) (any, error)
}
