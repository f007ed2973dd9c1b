package console

import (
	"errors"
	"net/http"
	"strings"

	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agents/note"
)

// notePage is the number of notes on one page.
const notePage = 100

// noteRow is a note in the list.
type noteRow struct {
	learned.Note
	// In is the name of its project, and State what a person should know of its status.
	In, State string
}

// notesData is what the page of what agents learned shows.
type notesData struct {
	User, Status string
	Notes        []noteRow
	Pages        pager
	Done, Write  bool
}

func (v *visit) learned(user string) (*learned.Memory, error) {
	s, err := v.c.o.App.Store(v.ctx)
	if err != nil {
		return nil, err
	}
	return learned.Open(s, learned.Options{Tenant: v.tenantName(), User: user})
}

// notes lists what coding agents learned of the projects of a user.
func (v *visit) notes() error {
	q := v.query
	d := notesData{User: q.Get("user"), Status: q.Get("status"), Done: q.Get("done") != "", Write: v.may("memory:write")}
	if s := note.Status(d.Status); s != "" && s != note.Accepted && s != note.Pending {
		return problemf(http.StatusBadRequest, "There is no such status of notes.")
	}
	m, err := v.learned(d.User)
	if err != nil {
		return err
	}
	list, err := m.Review(v.ctx, learned.Filter{Status: note.Status(d.Status)}, 0)
	if err != nil {
		return err
	}
	var from, to int
	d.Pages, from, to = paged(q.Get("page"), len(list), notePage, func(page string) string {
		return v.link("notes", "user", d.User, "status", d.Status, "page", page)
	})
	for _, n := range list[from:to] {
		row := noteRow{Note: n, In: n.ProjectName, State: string(n.Status)}
		switch {
		case n.Held != "":
			row.State = "held: " + n.Held
		case n.SupersededBy != "":
			row.State += ", superseded"
		}
		if n.Project == note.Everywhere {
			row.In = "all"
		}
		if !v.content() {
			row.Text, row.In = digest(n.Text)+", "+size(int64(len(n.Text))), digest(row.In)
		}
		d.Notes = append(d.Notes, row)
	}
	v.show(http.StatusOK, "notes", "What agents learned", d)
	return nil
}

// changeNote accepts, edits or drops a note, as the button of the form says.
func (v *visit) changeNote() error {
	user, id := v.query.Get("user"), v.query.Get("id")
	m, err := v.learned(user)
	if err != nil {
		return err
	}
	n, err := m.Find(v.ctx, id)
	if err == nil {
		switch v.r.PostFormValue("do") {
		case "accept":
			_, err = m.Accept(v.ctx, n.Project, id)
		case "edit":
			if !v.content() {
				return problemf(http.StatusForbidden, "To edit a text needs a key with the scope content.")
			}
			_, err = m.Edit(v.ctx, n.Project, id, strings.ReplaceAll(v.r.PostFormValue("text"), "\r\n", "\n"))
		case "drop":
			_, err = m.Drop(v.ctx, n.Project, id)
		default:
			return problemf(http.StatusBadRequest, "The form does not say what to do.")
		}
	}
	if errors.Is(err, learned.ErrNotFound) {
		return problemf(http.StatusNotFound, "There is no such note, or no more.")
	}
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.r, v.link("notes", "user", user, "done", "1"), http.StatusSeeOther)
	return nil
}
