package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

const (
	// importBatch and importBytes bound one write of Import. They are large enough that
	// the cost of a commit is negligible.
	importBatch = 1000
	importBytes = 8 << 20
	// maxLine is the largest length of a line: the largest data, escaped, and its names.
	maxLine = MaxData + 32<<10
	// MaxImportSeq is the greatest number that an import accepts: half of all numbers, so
	// that no file can use up the numbers of a key.
	MaxImportSeq = 1 << 31
)

// Check decides whether an import may store a record. Import calls it before it stores any
// record of the same batch. rec is nil for a line that has only the last number of a key.
// An error should wrap [ErrInvalid], or be [ErrSkip] to leave out the line.
type Check func(key Key, rec *Record) error

// Import reads JSON Lines in the form that [Export] writes and returns how many records it
// stored. A record with the key and ID of an existing record replaces it. Any other record
// keeps its sequence number if that is free, and is appended otherwise. So an import into an
// empty store makes an exact copy, and importing a file twice has the same effect as once.
// Lines may omit stream, seq, id and time. Unknown, repeated and null members are errors,
// and so are numbers above [MaxImportSeq]. A line with last instead of data has the last
// number of a key; it does not count as a record.
//
// Import stores records in batches, each of them completely or not at all. An error names
// its line and says how many records are stored.
func Import(ctx context.Context, s Store, r io.Reader) (int, error) {
	return importLines(ctx, s, r, "", nil)
}

// ImportChecked is like [Import] for one tenant: it stores every record under that tenant, whatever tenant the
// line names, and refuses records for which check returns an error. Use it for files from a tenant. A nil check
// takes all records.
func ImportChecked(ctx context.Context, s Store, r io.Reader, tenant string, check Check) (int, error) {
	if err := validateName("tenant", tenant, true); err != nil {
		return 0, fmt.Errorf("import: %w", err)
	}
	return importLines(ctx, s, r, tenant, check)
}

func importLines(ctx context.Context, s Store, r io.Reader, tenant string, check Check) (int, error) {
	im := importer{store: s, tenant: tenant, check: check, at: make(map[Key]int)}
	err := im.run(ctx, bufio.NewReader(r))
	if err != nil && im.stored > 0 {
		err = fmt.Errorf("import: %w (the %d records before line %d are stored)", err, im.stored, im.from)
	} else if err != nil {
		err = fmt.Errorf("import: %w (nothing is stored)", err)
	}
	return im.stored, err
}

// importer collects lines into batches.
type importer struct {
	store   Store
	tenant  string
	check   Check
	stored  int
	from    int // the first line of the batch
	count   int
	size    int
	changes []Change
	at      map[Key]int // index in changes
}

func (im *importer) run(ctx context.Context, r *bufio.Reader) error {
	im.from = 1
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		b, err := readLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if len(bytes.TrimSpace(b)) > 0 {
			if err := im.add(b); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if err != nil || im.count >= importBatch || len(im.changes) >= importBatch || im.size >= importBytes {
			if err := im.flush(ctx, n); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

func (im *importer) add(b []byte) error {
	key, rec, last, err := parseLine(b)
	if err != nil {
		return err
	}
	if im.tenant != "" {
		key.Tenant = im.tenant
	}
	one, checked := Change{Key: key, KeepSeq: true, LastSeq: last}, (*Record)(nil)
	if last == 0 {
		one.Put, checked = []Record{rec}, &rec
	}
	if err := one.validate(); err != nil {
		return err
	}
	if rec.Seq > MaxImportSeq || last > MaxImportSeq {
		return fmt.Errorf("%w: seq %d (at most %d in an import)", ErrInvalid, max(rec.Seq, last), int64(MaxImportSeq))
	}
	if im.check != nil {
		if err := im.check(key, checked); errors.Is(err, ErrSkip) {
			return nil
		} else if err != nil {
			return err
		}
	}
	i, ok := im.at[key]
	if !ok {
		i = len(im.changes)
		im.at[key] = i
		im.changes = append(im.changes, Change{Key: key, KeepSeq: true})
	}
	if last > 0 {
		im.changes[i].LastSeq = max(im.changes[i].LastSeq, last)
		return nil
	}
	im.changes[i].Put = append(im.changes[i].Put, rec)
	im.count++
	im.size += len(rec.Data)
	return nil
}

// flush stores the batch that ends with line n.
func (im *importer) flush(ctx context.Context, n int) error {
	if len(im.changes) > 0 {
		if err := im.store.Apply(ctx, im.changes...); err != nil {
			return fmt.Errorf("lines %d to %d: %w", im.from, n, err)
		}
	}
	im.stored += im.count
	im.from, im.count, im.size = n+1, 0, 0
	im.changes = im.changes[:0]
	clear(im.at)
	return nil
}

// readLine returns a line without its line end. With the last line it returns io.EOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var b []byte
	for {
		part, err := r.ReadSlice('\n')
		b = append(b, part...)
		if len(b) > maxLine {
			return nil, fmt.Errorf("%w: longer than %d bytes", ErrInvalid, maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return b, err
		}
	}
}

// lineMembers are the members of a line.
var lineMembers = []string{"tenant", "kind", "stream", "seq", "id", "time", "data", "last"}

// parseLine decodes one line strictly: a record, or the last number of a key.
func parseLine(b []byte) (key Key, rec Record, last int64, err error) {
	if !utf8.Valid(b) {
		return key, rec, 0, fmt.Errorf("%w: not UTF-8", ErrInvalid)
	}
	hasLast := false
	targets := map[string]any{
		"tenant": &key.Tenant, "kind": &key.Kind, "stream": &key.Stream,
		"seq": &rec.Seq, "id": &rec.ID, "time": &rec.Time, "last": &last,
	}
	err = decode.OpenLoose(b, func(name string, value json.RawMessage) error {
		to, known := targets[name]
		switch {
		case name == "data":
			rec.Data = slices.Clone(value)
			return nil
		case !known:
			return fmt.Errorf("unknown key: %w%s", ErrInvalid, nearest.Hint(name, lineMembers))
		case string(value) == "null":
			return fmt.Errorf("null: %w (leave it out)", ErrInvalid)
		}
		hasLast = hasLast || name == "last"
		return decode.Value("", value, to)
	})
	if err != nil && !errors.Is(err, ErrInvalid) { // no JSON
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err != nil {
		return Key{}, Record{}, 0, err
	}
	if hasLast {
		if last < 1 || rec.Data != nil || rec.ID != "" || rec.Seq != 0 || !rec.Time.IsZero() {
			return Key{}, Record{}, 0, fmt.Errorf("%w: member \"last\" is less than 1, or the line also has seq, id, time or data (write one or the other)", ErrInvalid)
		}
		return key, Record{}, last, nil
	}
	if rec.Data == nil {
		return Key{}, Record{}, 0, fmt.Errorf("%w: no data", ErrInvalid)
	}
	return key, rec, 0, nil
}
