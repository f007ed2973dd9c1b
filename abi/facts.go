package abi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check returns an error if an answer to extract has a blank text, an unknown type, a relevance
// outside 0 to 1, or names a fact twice. It also returns one if the answer names a fact that is
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
		if strings.TrimSpace(e.Content) == "" {
			return fmt.Errorf("update[%d]: the content is blank", i)
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

func (f *NewFact) check() error {
	switch {
	case strings.TrimSpace(f.Content) == "":
		return errors.New("the content is blank")
	case f.Type != "" && !slices.Contains(FactTypes, f.Type):
		return fmt.Errorf("memory_type %.100q (want one of %s)", f.Type, strings.Join(FactTypes, ", "))
	case !(f.Relevance >= 0 && f.Relevance <= 1): // NaN too
		return fmt.Errorf("relevance_score %v (want 0 to 1)", f.Relevance)
	}
	return nil
}
