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

// Formatted is an output together with its type. A formatter returns it if it learns the
// type only when it makes the output. A build then uses Type instead of FormatType, unless
// Type is empty.
type Formatted struct {
	Type   string
	Output any
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

// FormatWindow calls a formatter and returns the output and its type. Its error is a
// [*FormatError]; a panic of the formatter is such an error as well.
func FormatWindow(ctx context.Context, f Formatter, w *Window) (output any, formatType string, err error) {
	err = Guard(func() (err error) {
		output, err = f.Format(ctx, w)
		return err
	})
	if err != nil {
		return nil, "", &FormatError{f.FormatType(), len(w.Items), err}
	}
	if made, ok := output.(Formatted); ok {
		output, formatType = made.Output, made.Type
	}
	return output, formatType, nil
}
