package core

import (
	"context"
	"fmt"
)

// Formatter turns a filled window into the document a model API takes. It does not
// change the window and is safe for concurrent use.
type Formatter interface {
	// FormatType names the format, such as "anthropic".
	FormatType() string
	// Format returns a string or a value that encoding/json can marshal. Either may be in a
	// Formatted.
	Format(ctx context.Context, w *Window) (any, error)
}

// Formatted is an output with what else is to be said about it.
type Formatted struct {
	// Type is the type of the output if the formatter learns it only when it makes the output.
	// "" means that it is FormatType.
	Type   string
	Output any
	// Lost has one line for each part of the window that the output has no place for.
	Lost []string
}

// FormatError is the failure of a formatter.
type FormatError struct {
	// FormatType is the type of the formatter.
	FormatType string
	// Items is the number of items in the window.
	Items int
	Err   error
}

// Error names the formatter and the cause.
func (e *FormatError) Error() string {
	return fmt.Sprintf("formatter %q: format window of %d items: %v", e.FormatType, e.Items, e.Err)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// FormatWindow calls a formatter. Its error is a [*FormatError]; a panic of the formatter is such
// an error as well.
func FormatWindow(ctx context.Context, f Formatter, w *Window) (made Formatted, err error) {
	err = Guard(func() (err error) {
		made.Output, err = f.Format(ctx, w)
		return err
	})
	if err != nil {
		return Formatted{}, &FormatError{f.FormatType(), len(w.Items), err}
	}
	if inner, ok := made.Output.(Formatted); ok {
		made = inner
	}
	return made, nil
}
