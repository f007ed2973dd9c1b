package console

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
)

// degradation is what a window lacks, and why.
type degradation struct{ Step, Plugin, Reason, Text string }

// degradationsOf are the steps that failed, and those that were skipped with them.
func degradationsOf(r *builds.Record, d *builtdoc.Doc) (out []degradation) {
	for i := range d.Failures {
		f := &d.Failures[i]
		out = append(out, degradation{f.Step, f.Plugin, cmp.Or(f.Reason, "failed"), f.Message})
	}
	for _, step := range r.Skipped {
		if !slices.ContainsFunc(out, func(d degradation) bool { return d.Step == step }) {
			out = append(out, degradation{Step: step, Reason: "skipped"})
		}
	}
	return out
}

// failureOf is the text of the error of a build that failed. Records without content do not have it.
func failureOf(r *builds.Record) string {
	var doc struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if r.Outcome != builds.Failed || !r.Content || json.Unmarshal(r.Detail.Result, &doc) != nil {
		return ""
	}
	return doc.Error.Message
}

// command is a command line for a shell, about a build of the tenant that is shown.
type command struct{ Name, Text string }

// commands are the command lines about a build. They name the tenant, the configuration and the store, so that
// they work in any folder of the computer of the service.
func (v *visit) commands(r *builds.Record) []command {
	where := " --tenant " + shellWord(v.tenantName())
	if file := v.c.o.App.Status().File; file != "" {
		where += " --config " + shellWord(file)
	}
	for _, s := range v.c.o.App.Settings() {
		// What the file names is known from the file.
		if s.Path == "store.path" && s.Origin != "default" && !strings.Contains(s.Origin, ":") {
			where += " --store " + shellWord(s.Text)
		}
	}
	show := "anchor-host explain " + shellWord(r.ID)
	out := []command{{"Show it on the command line", show + where}}
	if v.content() && r.Detail.Request != nil {
		again := " | anchor-host build --request -" + where
		again += flagsOf(r.Detail.Options)
		out = append(out, command{"Build it again", show + " --as-request" + where + again})
	}
	return out
}

// flagsOf are the flags of "anchor-host build" for what a caller asked for beside the request.
func flagsOf(o *builds.Options) (out string) {
	if o == nil {
		return ""
	}
	add := func(flag string, values ...string) {
		for _, v := range values {
			if v != "" {
				out += " --" + flag + " " + shellWord(v)
			}
		}
	}
	add("user", o.User)
	add("session", o.Session)
	add("conversation", o.Conversation)
	add("only-steps", o.Only...)
	add("skip-steps", o.Skip...)
	return out
}

var safeWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWord is a word of a command line for a POSIX shell.
func shellWord(word string) string {
	if safeWord.MatchString(word) && !strings.HasPrefix(word, "-") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
