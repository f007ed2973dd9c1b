package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/server"
)

// keptFailure is a failed call with the command that repeats it.
type keptFailure struct {
	failures.Failure
	Command, Link string
}

// keptFailures are the last failed calls by plugin, of all tenants, and what they lack. Texts need the scope content.
func (v *visit) keptFailures() (out map[string][]keptFailure, missing string) {
	list := v.c.o.Failures.Of(v.ctx, failures.Viewer{All: true, Content: v.content()}, "")
	out = map[string][]keptFailure{}
	for _, f := range list.Failures {
		k := keptFailure{Failure: f}
		if f.Case != nil {
			k.Command = "anchor-host plugin call MODULE " + strings.Join(f.Repeat, " ") + " --request " + caseFile(f.ID)
			k.Link = "/console/plugins/case?id=" + strconv.FormatInt(f.ID, 10)
		}
		out[f.Plugin] = append(out[f.Plugin], k)
	}
	return out, list.Missing
}

// caseFile is the name of the file that repeats a failure.
func caseFile(id int64) string { return "failure-" + strconv.FormatInt(id, 10) + ".json" }

// failureCase sends the case that repeats a failure. It has texts, and needs the scope admin, too.
func (v *visit) failureCase() error {
	if !v.may(server.ScopeAdmin) {
		return problemf(http.StatusForbidden, "This needs a key with the scopes admin and content.")
	}
	list := v.c.o.Failures.Of(v.ctx, failures.Viewer{All: true, Content: true}, "").Failures
	i := slices.IndexFunc(list, func(f failures.Failure) bool {
		return f.Case != nil && strconv.FormatInt(f.ID, 10) == v.query.Get("id")
	})
	if i < 0 {
		return problemf(http.StatusNotFound, "This failure is not kept any more, or nothing repeats it.")
	}
	var doc bytes.Buffer
	if err := json.Indent(&doc, list[i].Case, "", "  "); err != nil {
		return fmt.Errorf("failure %d: its case: %w", list[i].ID, err)
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="`+caseFile(list[i].ID)+`"`)
	_, _ = v.w.Write(doc.Bytes()) // the client is gone
	return nil
}
