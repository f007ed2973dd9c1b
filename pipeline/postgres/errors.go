package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/store"
)

// fault is the meaning of an error of the server for a caller, and its remedy.
type fault struct {
	is     error
	remedy string
}

// The codes of the server that this package acts on.
const (
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeUnique        = "23505"
	codeCheck         = "23514"
	codeStarting      = "57P03"
)

// faults has the faults by the code of the server.
var faults = map[string]fault{
	"28P01":           {nil, "correct the user and the password in store.path, or set PGPASSWORD or PGPASSFILE"},
	"28000":           {nil, "correct the user in store.path, or pg_hba.conf of the server"},
	"3D000":           {nil, "create the database with createdb, or name another one in store.path"},
	"3F000":           {nil, "create the schema anchor, or let the role create schemas in the database"},
	"42501":           {store.ErrReadOnly, "give the role of store.path the schema anchor and its tables: ALTER SCHEMA anchor OWNER TO the role"},
	"25006":           {store.ErrReadOnly, "the server is a replica: name the primary in store.path"},
	"53100":           {store.ErrFull, "make room on the disk of the server and try again"},
	"53200":           {store.ErrBusy, "the server has no memory: try again"},
	"53300":           {store.ErrBusy, "the server has no free connection: lower store.pool, or raise max_connections of the server"},
	"55P03":           {store.ErrBusy, "another transaction holds a lock: try again"},
	"57014":           {store.ErrBusy, "the statement took too long: try again, or raise store.timeout"},
	codeStarting:      {store.ErrBusy, "the server starts or ends: try again"},
	codeSerialization: {store.ErrBusy, "others write the same: try again"},
	codeDeadlock:      {store.ErrBusy, "others write the same: try again"},
	"58030":           {nil, "check the disk of the server"},
	"XX001":           {store.ErrCorrupt, "restore a backup of the database"},
	"XX002":           {store.ErrCorrupt, "restore a backup of the database, or REINDEX it"},
}

// code returns the code of an error of the server, or "".
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// lost reports whether an error means that the connection broke, or that the server ends it.
func lost(err error) bool {
	if err == nil {
		return false
	}
	switch code(err) {
	case "":
	case "57P01", "57P02", "57P05", "08006", "08003":
		return true
	default:
		return false
	}
	for _, is := range []any{new(*pgconn.ConnectError), new(*brokenError), new(*net.OpError)} {
		if errors.As(err, is) {
			return true
		}
	}
	return pgconn.Timeout(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// brokenError is an error of a connection that was in use.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// Explain wraps an error of the server or of a connection with its meaning for a caller and its remedy, without
// passwords. It is for other tables of this program in the same database.
func Explain(err error) error { return translate(err) }

// Broke reports whether an error says that the connection broke after a commit was sent, so that nobody knows whether
// it was carried out. It is for other tables of this program in the same database.
func Broke(err error) bool { return lost(err) && !unsent(err) }

// translate wraps an error with its meaning and its remedy. Errors of the network lose their type, so
// that nobody takes a timeout of this package for that of a caller.
func translate(err error) error {
	f, ok := faults[code(err)]
	var connect *pgconn.ConnectError
	switch {
	case errors.Is(err, store.ErrUnknown), errors.Is(err, store.ErrBusy):
		return err
	case ok && f.is == nil:
		return fmt.Errorf("%w (%s)", brief(err), f.remedy)
	case ok:
		return fmt.Errorf("%w: %w (%s)", f.is, brief(err), f.remedy)
	case errors.As(err, &connect) && (strings.HasPrefix(code(err), "42") || strings.HasPrefix(code(err), "22")): // of a parameter
		return fmt.Errorf("%w (correct the parameters of the URL in store.path)", brief(err))
	case errors.As(err, &connect), lost(err):
		return fmt.Errorf("%w: the server cannot be reached: %w (start PostgreSQL, or correct store.path)", store.ErrBusy, brief(err))
	}
	return err
}

// serverError is what the server or the network said, or what this package says of them, without passwords.
// Only the operator sees it and its remedy.
type serverError struct {
	text string
	code string
}

func (e *serverError) Error() string { return e.text }

// brief keeps the words of an error that the operator can use.
func brief(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &serverError{e.Message, e.Code}
	}
	if connect, ok := errors.AsType[*pgconn.ConnectError](err); ok && connect.Unwrap() != nil {
		err = connect.Unwrap()
	}
	if op := new(net.OpError); errors.As(err, &op) { // once, of the many addresses that were tried
		err = op
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &serverError{text: "no answer in time"}
	}
	return &serverError{text: strings.ReplaceAll(err.Error(), "\n", " ")}
}

// failure is an error of a store with its address and what was done.
type failure struct {
	address, what string
	err           error
}

// Error names the address, what was done and the cause.
func (f *failure) Error() string { return fmt.Sprintf("%s: %v", f.at(f.address), f.err) }

func (f *failure) Unwrap() error { return f.err }

// Public says the same without the address and the words of the server.
func (f *failure) Public() string {
	cause := observe.Public(f.err)
	if errors.As(f.err, new(*serverError)) || code(f.err) != "" {
		cause = "it fails"
		for _, known := range []error{store.ErrBusy, store.ErrFull, store.ErrReadOnly, store.ErrCorrupt, store.ErrUnknown} {
			if errors.Is(f.err, known) {
				cause = known.Error()
			}
		}
	}
	return fmt.Sprintf("%s: %s", f.at(""), cause)
}

// at says what was done with the store of an address.
func (f *failure) at(address string) string {
	where := strings.TrimSpace("store " + address)
	if f.what == "open" || f.what == "close" {
		return f.what + " " + where
	}
	return where + ": " + f.what
}

// fail adds the address and the operation to an error, and the meaning of an error of the server.
func (s *Store) fail(err error, format string, args ...any) error {
	return &failure{s.address, fmt.Sprintf(format, args...), translate(err)}
}
