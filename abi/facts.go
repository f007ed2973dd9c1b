package abi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of one fact in an answer to extract.
const (
	// MaxFactBytes is the greatest size of its text, in bytes.
	MaxFactBytes = 64 << 10
	// MaxFactTags is the greatest number of its tags.
	MaxFactTags = 64
	// MaxTagBytes is the greatest size of a tag, in bytes.
	MaxTagBytes = 200
)

// Check returns an error if an answer to extract has a blank text, an unknown type, a relevance
// outside 0 to 1, a fact beyond the bounds, or names a fact twice. It also returns one if the answer names a fact that is
// not in known, unless known is nil.
func (r *ExtractReply) Check(known []Fact) error {
	for i := range r.Add {
		if err := r.Add[i].check(); err != nil {
			return fmt.Errorf("add[%d]: %w", i, err)
		}
	}
	named := make(map[string]bool, len(r.Update)+len(r.Remove))
	ids := make(map[string]bool, len(known))
	for i := range known {
		ids[known[i].ID] = true
	}
	name := func(id string) error {
		switch {
		case named[id]:
			return fmt.Errorf("fact %.100q is named twice", id)
		case known != nil && !ids[id]:
			return fmt.Errorf("the request has no fact %.100q", id)
		}
		named[id] = true
		return nil
	}
	for i, e := range r.Update {
		if err := checkFact(e.Content, e.Tags); err != nil {
			return fmt.Errorf("update[%d]: %w", i, err)
		}
		if err := name(e.ID); err != nil {
			return fmt.Errorf("update[%d]: %w", i, err)
		}
	}
	for i, id := range r.Remove {
		if err := name(id); err != nil {
			return fmt.Errorf("remove[%d]: %w", i, err)
		}
	}
	return nil
}

// checkFact checks the text and the tags of a fact.
func checkFact(content string, tags []string) error {
	switch {
	case strings.TrimSpace(content) == "":
		return errors.New("the content is blank")
	case len(content) > MaxFactBytes:
		return fmt.Errorf("the content has %d bytes (at most %d)", len(content), MaxFactBytes)
	case len(tags) > MaxFactTags:
		return fmt.Errorf("%d tags (at most %d)", len(tags), MaxFactTags)
	}
	for i, tag := range tags {
		if len(tag) > MaxTagBytes {
			return fmt.Errorf("tags[%d]: %d bytes (at most %d)", i, len(tag), MaxTagBytes)
		}
	}
	return nil
}

func (f *NewFact) check() error {
	if err := checkFact(f.Content, f.Tags); err != nil {
		return err
	}
	switch {
	case f.Type != "" && !slices.Contains(FactTypes, f.Type):
		return fmt.Errorf("memory_type %.100q (want one of %s)", f.Type, strings.Join(FactTypes, ", "))
	case !(f.Relevance >= 0 && f.Relevance <= 1): // NaN too
		return fmt.Errorf("relevance_score %v (want 0 to 1)", f.Relevance)
	}
	return nil
}
