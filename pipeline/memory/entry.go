package memory

import (
	"cmp"
	"crypto/md5" // content hashes identify, they do not protect
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Errors that callers decide on.
var (
	// ErrNotFound means that a fact does not exist, or has expired.
	ErrNotFound = errors.New("no such fact")
	// ErrNoFacts means that a manager without facts was asked to change facts.
	ErrNoFacts = errors.New("no facts configured (set Config.Facts)")
)

// Type classifies facts by the kind of memory.
type Type string

// The types. The zero value is none of them; [Manager.Add] takes it for Semantic.
const (
	Semantic     Type = "semantic"   // a state of affairs
	Episodic     Type = "episodic"   // what happened
	Procedural   Type = "procedural" // how it is done
	Conversation Type = "conversation"
)

// Valid reports whether t is one of the four types.
func (t Type) Valid() bool {
	return t == Semantic || t == Episodic || t == Procedural || t == Conversation
}

// DefaultRelevance is the relevance of a fact that states none.
const DefaultRelevance = 0.5

// Entry is one remembered fact.
type Entry struct {
	// ID names the entry, a UUID when the manager gives it.
	ID      string
	Content string
	// Relevance is the importance of the fact in general, 0 to 1. Its key is
	// "relevance_score".
	Relevance float64
	// AccessCount is how often the fact was used, and LastAccessed is when it was used
	// last. Decay depends on both.
	AccessCount  int
	LastAccessed time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Tags         []string
	// Metadata holds nil, bool, int64, float64, string, []any and map[string]any.
	Metadata map[string]any
	// Type is "memory_type".
	Type Type
	// UserID and SessionID are empty for a fact that belongs to nobody.
	UserID    string
	SessionID string
	// ExpiresAt is the moment from which the fact is no longer offered. The zero time means
	// never.
	ExpiresAt time.Time
	// ContentHash is the [ContentHash] of the content at the time when it was added or
	// updated.
	ContentHash string
	// SourceTurns names the turns from which the fact was taken.
	SourceTurns []string
	// Links are the IDs of related entries.
	Links []string
}

// ContentHash returns the MD5 of the content in UTF-8, in hex.
func ContentHash(content string) string {
	sum := md5.Sum([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Expired reports whether the entry has expired at the given time.
func (e *Entry) Expired(now time.Time) bool {
	return !e.ExpiresAt.IsZero() && !now.Before(e.ExpiresAt)
}

// Clone returns a copy that shares no map and no slice with e.
func (e *Entry) Clone() Entry {
	c := *e
	c.Tags = slices.Clone(e.Tags)
	c.SourceTurns = slices.Clone(e.SourceTurns)
	c.Links = slices.Clone(e.Links)
	if e.Metadata != nil {
		// Item.Clone copies metadata.
		c.Metadata = pipeline.Item{Metadata: e.Metadata}.Clone().Metadata
	}
	return c
}

// touched returns the entry with one more use.
func (e *Entry) touched(now time.Time) *Entry {
	c := *e
	if c.AccessCount < math.MaxInt {
		c.AccessCount++
	}
	c.LastAccessed = now
	return &c
}

// Validate checks the bounds of every field and names the first that fails. An entry
// without an ID is valid: the manager gives it one.
func (e *Entry) Validate() error {
	switch {
	case !(e.Relevance >= 0 && e.Relevance <= 1): // NaN too
		return fmt.Errorf("fact %.100q: relevance_score %v: %w (want 0 to 1)", e.ID, e.Relevance, pipeline.ErrInvalid)
	case e.AccessCount < 0:
		return fmt.Errorf("fact %.100q: access_count %d: %w (want 0 or more)", e.ID, e.AccessCount, pipeline.ErrInvalid)
	case !e.Type.Valid():
		return fmt.Errorf("fact %.100q: memory_type %.100q: %w (want semantic, episodic, procedural or conversation)", e.ID, e.Type, pipeline.ErrInvalid)
	}
	return nil
}

// complete sets the empty fields of a new entry.
func (e *Entry) complete(newID func() string, now time.Time) {
	e.Content = strings.ToValidUTF8(e.Content, "\uFFFD")
	if e.ID == "" {
		e.ID = newID()
	}
	e.Relevance = cmp.Or(e.Relevance, DefaultRelevance)
	e.Type = cmp.Or(e.Type, Semantic)
	for _, at := range []*time.Time{&e.CreatedAt, &e.UpdatedAt, &e.LastAccessed} {
		if at.IsZero() {
			*at = now
		}
	}
	if e.ContentHash == "" {
		e.ContentHash = ContentHash(e.Content)
	}
}

// sameOwner reports whether two entries belong to the same user and session. Only such
// entries can be the same fact.
func sameOwner(a, b *Entry) bool { return a.UserID == b.UserID && a.SessionID == b.SessionID }

// union returns the elements of a, followed by those that only b has, in order.
func union(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	seen := make(map[string]bool, len(a)+len(b))
	for _, s := range slices.Concat(a, b) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// merged returns the members of a and b. Where both have a member, that of b counts.
func merged(a, b map[string]any) map[string]any {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	out := make(map[string]any, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}
