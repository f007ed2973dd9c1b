package message

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrInvalid marks what is not a message, or breaks a rule of its form.
var ErrInvalid = errors.New("invalid value")

// ErrLoss marks a conversion that would leave something out.
var ErrLoss = errors.New("cannot be written without a loss")

// leftOut returns what an error that wraps ErrLoss says besides.
func leftOut(err error) string { return strings.TrimSuffix(err.Error(), ": "+ErrLoss.Error()) }

// wrong is the error of a value of another type.
func wrong(raw, want string) error {
	return fmt.Errorf("%.40s: %w (want %s)", raw, ErrInvalid, want)
}

// syntaxError returns nil for nil.
func syntaxError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("the document ends too early: %w", ErrInvalid)
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		err = fmt.Errorf("byte %d: %w: %w", syntax.ByteOffset, syntax.Err, ErrInvalid)
		if path := pointerPath(syntax.JSONPointer); path != "" {
			return &pathError{path: path, err: err, whole: true}
		}
		return err
	}
	return fmt.Errorf("%w: %w", err, ErrInvalid)
}

// pointerPath returns a JSON pointer as a path such as messages[3].content. Only its first steps
// are of interest.
func pointerPath(pointer jsontext.Pointer) string {
	var path strings.Builder
	steps := 0
	for token := range pointer.Tokens() {
		if steps++; steps > 8 {
			path.WriteString("…")
			break
		}
		if _, err := strconv.Atoi(token); err == nil {
			path.WriteString("[" + token + "]")
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		fmt.Fprintf(&path, "%.40s", token)
	}
	return path.String()
}

// pathError is an error with the place of the value, such as messages[3].content[0].text.
type pathError struct {
	path string
	err  error
	// whole is true if the path begins at the document.
	whole bool
}

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// indexed adds the index of an element to an error, which must not be nil.
func indexed(i int, err error) error { return inside(fmt.Sprintf("[%d]", i), err) }

// inside adds the name of a member to an error, which must not be nil.
func inside(step string, err error) error {
	switch { // a name from the document can be anything
	case step == "":
		step = `""`
	case len(step) > 40:
		step = fmt.Sprintf("%.40s", step)
	}
	step = strings.ToValidUTF8(step, "\ufffd")
	var inner *pathError
	switch {
	case !errors.As(err, &inner):
		return &pathError{path: step, err: err}
	case inner.whole:
		return inner
	case inner.path[0] == '[':
		return &pathError{path: step + inner.path, err: inner.err}
	}
	return &pathError{path: step + "." + inner.path, err: inner.err}
}
