// Package note has the records of what agents have learned about a project.
package note

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/store"
)

// KindNote is the kind of the records of notes. Their stream is the ID of a project, a slash and the user; that of
// notes for all projects begins with [Everywhere]. The ID of a record is that of the note.
const KindNote = "note"

// Everywhere stands for the ID of a project in notes that hold in all projects of a user.
const Everywhere = "all"

// Kind says what a note is.
type Kind string

// The kinds of notes.
const (
	Fact  Kind = "fact"  // a statement that holds beyond its session
	Frame Kind = "frame" // a summary of what was done, such as that of a compaction
	Turn  Kind = "turn"  // what was said in a session; only searches return it
)

// Status says whether a person has agreed to a note.
type Status string

// The statuses of notes.
const (
	Accepted Status = "accepted" // the user said it, or accepted it
	Pending  Status = "pending"  // an agent concluded it, and nobody has looked at it
)

// Source says who stated a note.
type Source string

// The sources of notes.
const (
	User      Source = "user"
	Assistant Source = "assistant"
	Tool      Source = "tool"
)

// The bounds of a note, in bytes.
const (
	MaxText = 16 << 10
	MaxTags = 16
	MaxTag  = 64
)

// Note is one thing that agents remember.
type Note struct {
	// ID names the note within its project. It is part of the record's key, not of its data.
	ID string `json:"id"`
	// Kind is fact, frame or turn.
	Kind Kind `json:"kind"`
	// Text is what is remembered, in UTF-8, at most [MaxText] bytes.
	Text string `json:"text"`
	// Status is accepted or pending. Frames and turns are always accepted.
	Status Status `json:"status"`
	// Source says who stated it.
	Source Source `json:"source"`
	// Project is the ID of the project, [Everywhere] for all of the user. ProjectName is what people call it.
	Project     string `json:"project"`
	ProjectName string `json:"project_name,omitempty"`
	// Session is the one in which it was learned, empty if that is unknown.
	Session string `json:"session,omitempty"`
	// At is when it was learned, and Used when it was last given to an agent; Uses is how often.
	At   time.Time `json:"at"`
	Used time.Time `json:"used,omitzero"`
	Uses int       `json:"uses,omitempty"`
	// Tags are words by which a note is listed, at most [MaxTags].
	Tags []string `json:"tags,omitempty"`
	// Supersedes are the IDs of older notes that this one contradicts or renews, and SupersededBy that of the newer
	// one. Both are shown, the newer first.
	Supersedes   []string `json:"supersedes,omitempty"`
	SupersededBy string   `json:"superseded_by,omitempty"`
	// Held says why a pending note is not given to agents until it is accepted, such as that it reads like an
	// order. Empty means that agents get it.
	Held string `json:"held,omitempty"`
	// Score is how well the note fits the question, 0 to 1. Only searches set it.
	Score float64 `json:"score,omitempty"`
}

// Decode reads the record of a note.
func Decode(rec *store.Record) (Note, error) {
	var n Note
	if err := json.Unmarshal(rec.Data, &n); err != nil {
		return n, fmt.Errorf("note %.100q: %w: %w (delete it by this id)", rec.ID, store.ErrInvalid, err)
	}
	n.ID = rec.ID
	return n, n.check()
}

// Check is a check of records for imports: it refuses what Decode cannot read.
func Check(_ store.Key, rec *store.Record) error {
	_, err := Decode(rec)
	return err
}

func (n *Note) check() error {
	wrong := func(what string) error {
		return fmt.Errorf("note %.100q: %w: %s", n.ID, store.ErrInvalid, what)
	}
	switch {
	case n.Kind != Fact && n.Kind != Frame:
		return wrong("kind (want fact or frame)")
	case strings.TrimSpace(n.Text) == "" || len(n.Text) > MaxText || !utf8.ValidString(n.Text):
		return wrong("text (want 1 to 16,384 bytes of UTF-8)")
	case n.Status != Accepted && n.Status != Pending:
		return wrong("status (want accepted or pending)")
	case len(n.Tags) > MaxTags || len(n.Supersedes) > MaxTags || n.Uses < 0:
		return wrong("too many tags or superseded notes, or a negative number of uses")
	}
	for _, tag := range n.Tags {
		if tag == "" || len(tag) > MaxTag {
			return wrong("a tag (want 1 to 64 bytes)")
		}
	}
	return nil
}

// KindOrders is the kind of the records of the orders that results of tools had. Their stream is that of the notes.
const KindOrders = "order"

// Orders are digests of the words of orders in results of tools, so that agents do not learn them.
type Orders struct {
	// Windows are sorted digests of the terms of each order, the oldest first.
	Windows [][]uint32 `json:"windows"`
}

// CheckOrders is a check of records for imports.
func CheckOrders(_ store.Key, rec *store.Record) error {
	var o Orders
	if err := json.Unmarshal(rec.Data, &o); err != nil {
		return fmt.Errorf("orders: %w: %w", store.ErrInvalid, err)
	}
	return nil
}
