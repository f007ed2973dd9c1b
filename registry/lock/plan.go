package lock

import (
	"fmt"
	"slices"
)

// Action says what becomes of an update.
type Action string

// The actions.
const (
	// Keep: what is locked is what the update would install.
	Keep Action = "keep"
	// Add: nothing of this name was locked.
	Add Action = "add"
	// Replace: the update may take the place of what is locked.
	Replace Action = "replace"
	// Wait: what is locked stays until somebody approves the update.
	Wait Action = "wait"
)

// Decision is what [File.Plan] says about an update.
type Decision struct {
	// Action is what to do.
	Action Action
	// Old is what is locked, nil for Add. New is the update.
	Old *Entry
	New Entry
	// Added is what New asks for beyond Old, and Removed what it no longer asks for, in the form
	// of [Asks].
	Added, Removed []string
	// Reasons say why the update waits, each in one line. They are empty for other actions.
	Reasons []string
}

// Plan decides whether an update may take the place of what is locked. One that asks for more, or
// is not signed any more, waits. To approve it is to [File.Set] its entry. An update that differs
// from the lock only in what the lock says of the same module replaces that: somebody edited the
// file. Nothing is changed.
func (f *File) Plan(update Entry) Decision {
	d := Decision{Action: Add, New: update, Added: update.Permissions}
	old := f.Find(update.Name)
	if old == nil {
		return d
	}
	copied := *old
	d.Old = &copied
	d.Added, d.Removed = Difference(old.Permissions, update.Permissions)
	if len(d.Added) > 0 {
		d.Reasons = append(d.Reasons, "asks for more: "+few(d.Added))
	}
	if old.Signer != "" && update.Signer == "" {
		d.Reasons = append(d.Reasons, fmt.Sprintf("is not signed, while %s is signed with the key %s", orVersion(old), old.Signer))
	}
	switch {
	case len(d.Reasons) > 0:
		d.Action = Wait
	case old.same(&update):
		d.Action = Keep
	default:
		d.Action = Replace
	}
	return d
}

// same reports whether two entries of one name say the same.
func (e *Entry) same(as *Entry) bool {
	return e.Module == as.Module && e.Manifest == as.Manifest && e.Reference == as.Reference && e.Signer == as.Signer &&
		e.Version == as.Version && slices.Equal(e.Permissions, as.Permissions) && slices.Equal(e.Operations, as.Operations)
}

func orVersion(e *Entry) string {
	if e.Version == "" {
		return "the locked one"
	}
	return e.Version
}
