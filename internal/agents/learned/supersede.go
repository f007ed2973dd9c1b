package learned

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/agents/note"
	"github.com/anchor-host/anchor-host/internal/agents/project"
)

// maxOlder is how many notes one may supersede.
const maxOlder = 4

// supersede enters the older facts of the project that a note contradicts. They stay: an agent sees both.
func (m *Memory) supersede(ctx context.Context, of project.Project, n *Note) error {
	similar, err := m.found(ctx, of, n.Text, 8)
	if err != nil {
		return err
	}
	for _, old := range similar {
		if old.Kind == Fact && old.ID != n.ID && old.SupersededBy == "" && len(n.Supersedes) < maxOlder && contradicts(old.Text, n.Text) {
			n.Supersedes = append(n.Supersedes, old.ID)
		}
	}
	return nil
}

// mark marks the notes that a stored note supersedes. To do so again, after an error, changes nothing more. What an
// agent concluded does not push aside what the user said until the user accepts it.
func (m *Memory) mark(ctx context.Context, of project.Project, n *Note) error {
	for _, older := range n.Supersedes {
		err := m.change(ctx, of, older, func(o *Note) {
			if o.SupersededBy == "" && (n.Status == Accepted || o.Status == Pending) {
				o.SupersededBy = n.ID
			}
		})
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// verb divides a statement into what it is about and what it says.
var verb = lazily(`(?i)\s(is|are|was|were|uses?|used|runs?|ran|lives?|needs?|requires?|has|have|prefers?|wants?|works?|listens?|deploys?|builds?|stores?|expects?|starts?|must|should|can|cannot|can't|isn't|aren't|doesn't|don't|does|do)\b|\s?[=:]\s`)

// changing are words of a statement that replaces another.
var changing = lazily(`(?i)\b(?:no longer|not any ?more|instead of|now|switched|moved|replaced|renamed|changed|migrated|since then|used to|as of)\b`)

// negation are words that turn a statement around.
var negation = lazily(`(?i)\b(?:not|never|no longer|no|none|cannot|without)\b|n't\b`)

// contradicts reports whether two statements cannot both hold, as far as their words tell: they are about the same and
// say something else of the same kind.
func contradicts(old, fresh string) bool {
	a, b := statementOf(old), statementOf(fresh)
	switch {
	case a.verb == "" || b.verb == "":
		return false
	case len(a.about)+len(b.about) == 0: // "we" and "I" have no term
		if !strings.EqualFold(a.subject, b.subject) {
			return false
		}
	case alike(a.about, b.about) < 0.75:
		return false
	}
	onlyA, onlyB, both := compare(a.says, b.says)
	turned := negation().MatchString(old) != negation().MatchString(fresh)
	switch {
	case len(onlyA)+len(onlyB) == 0:
		return turned // the same but for a negation
	case turned && len(both) > 0 && len(onlyA) == 0:
		return true
	case changing().MatchString(fresh):
		return len(both) > 0 || len(a.says) <= 3
	case len(onlyA) == 0 || len(onlyB) == 0:
		return false // one only says more
	case a.verb != b.verb || len(onlyA) > 3 || len(onlyB) > 3:
		return false
	case len(both) > 0:
		return true // the same attribute with another value
	}
	// Short values of the same kind: a port and a port, a name and a name.
	return len(a.says) <= 2 && len(a.says) == len(b.says) && (hasDigit(a.says) == hasDigit(b.says))
}

// statement is a sentence in the terms by which it is compared.
type statement struct {
	about, says   []string
	subject, verb string
}

func statementOf(text string) statement {
	at := verb().FindStringSubmatchIndex(text)
	if at == nil {
		return statement{}
	}
	v := "to is"
	if at[2] >= 0 {
		v = "to " + strings.Join(forms.Terms(text[at[2]:at[3]]), "")
	}
	return statement{terms(text[:at[0]]), terms(changing().ReplaceAllString(negation().ReplaceAllString(text[at[1]:], " "), " ")), text[:at[0]], v}
}

// terms are the different terms of a text, sorted.
func terms(text string) []string {
	list := analyzer.Terms(text)
	slices.Sort(list)
	return slices.Compact(list)
}

// compare returns what is in one list only and what is in both.
func compare(a, b []string) (onlyA, onlyB, both []string) {
	for _, t := range a {
		if slices.Contains(b, t) {
			both = append(both, t)
		} else {
			onlyA = append(onlyA, t)
		}
	}
	for _, t := range b {
		if !slices.Contains(a, t) {
			onlyB = append(onlyB, t)
		}
	}
	return onlyA, onlyB, both
}

// alike is the share of the terms of both lists that are in both.
func alike(a, b []string) float64 {
	onlyA, onlyB, both := compare(a, b)
	return float64(len(both)) / float64(max(1, len(onlyA)+len(onlyB)+len(both)))
}

func hasDigit(list []string) bool {
	return slices.ContainsFunc(list, func(t string) bool { return strings.ContainsAny(t, "0123456789") })
}

// collect deletes the notes of a project beyond MaxNotes, those that were forgotten most, and pending facts that
// nobody used for about half a year.
func (m *Memory) collect(ctx context.Context, of project.Project) error {
	list, err := m.newest(ctx, of, 2*MaxNotes)
	if err != nil {
		return err
	}
	now := m.o.Now()
	var gone []string
	kept := list[:0]
	for _, n := range list {
		if n.Status == Pending && retention(&n, now) < 0.015 {
			gone = append(gone, n.ID)
		} else {
			kept = append(kept, n)
		}
	}
	if more := len(kept) - MaxNotes; more > 0 {
		slices.SortStableFunc(kept, func(a, b note.Note) int {
			switch x, y := retention(&a, now), retention(&b, now); {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		for _, n := range kept[:more] {
			gone = append(gone, n.ID)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err = m.Drop(ctx, of.ID, gone...)
	return err
}
