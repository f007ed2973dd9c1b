// Package failures keeps the last failed calls of plugins, each with what repeats it: the case that
// "plugin call --request" sends, and the flags that bound it as it was bounded. It is kept in the store of the
// host and bounded, whatever plugins do: written off the path of the calls, which never wait for the store.
package failures

import (
	"encoding/json"
	"time"

	"github.com/anchor-host/anchor-host/host/record"
)

// Bounds of what is kept: failures of one plugin, plugins, bytes of all, bytes of the texts and of the
// call of each.
const (
	MaxOfPlugin = 32
	MaxPlugins  = 256
	MaxBytes    = 8 << 20
	maxText     = 4 << 10
	maxOutput   = 8 << 10
	maxCall     = 2 * record.MaxFailureBytes
)

// Failure is a call that failed, and how often it did so in the same way: for the same tenant and step,
// with the same module, reason and text. The texts are those of the last time.
type Failure struct {
	// ID names the failure for as long as it is kept.
	ID int64 `json:"id"`
	// Host is the name of the host on which it happened. Only those who see all tenants see it.
	Host   string `json:"host,omitempty"`
	Plugin string `json:"plugin"`
	// Count is how often it happened, First and Last when.
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Tenant is whose calls failed, Step the step that they were for, "" for none.
	Tenant    string `json:"tenant"`
	Operation string `json:"operation"`
	Step      string `json:"step,omitempty"`
	// Reason is the typed reason, such as "trap", Text the cause and Remedy what to do.
	Reason string `json:"reason"`
	Text   string `json:"text,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Log is the end of what the plugin wrote in the call, Stack its call stack after a trap.
	Log   string `json:"log,omitempty"`
	Stack string `json:"stack,omitempty"`
	// Module is the name and Digest the digest of the module that failed.
	Module string `json:"module,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Case is a case of "plugin test", nil if there is none; NoCase then says why.
	Case   json.RawMessage `json:"case,omitempty"`
	NoCase string          `json:"no_case,omitempty"`
	// Repeat are the arguments of "plugin call" after the module and before --request.
	Repeat []string `json:"repeat,omitempty"`

	// key is what failures of the same kind have in common. owner is whose texts the call may have.
	key, public string
	owner       Owner
	// call is what Case and Repeat are made of, once somebody looks. Without a request it repeats nothing.
	call  record.Call
	flags []string
}

// Owner names failures: those of a tenant, or of it only those that may have the texts of a user, a conversation or a
// run: of the one that is not "".
type Owner struct {
	Tenant       string `json:"-"`
	User         string `json:"user,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Run          string `json:"run,omitempty"`
}

// List is a list of failures, the newest first.
type List struct {
	Failures []Failure `json:"failures"`
	// Missing says what the list lacks because of the store, "" for nothing.
	Missing string `json:"missing,omitempty"`
}

// Viewer is who looks at failures. Tenant is whose failures are shown: of all tenants for All. Content
// allows texts; those of servers and files, the log, the stack and the case need All, too, because they
// show what only operators may see.
type Viewer struct {
	Tenant       string
	All, Content bool
}

// hidden stands in the place of a case for who may not see it.
const hidden = "shown to keys with the scopes content and admin"

// size is about what a failure takes, in bytes.
func (f *Failure) size() int64 {
	const fields = 512
	return int64(fields+len(f.Plugin)+len(f.Tenant)+len(f.Step)+2*len(f.Text)+len(f.Remedy)+len(f.Log)+len(f.Stack)+len(f.NoCase)+len(f.Case)) + f.call.Size()
}

// seen is what a viewer sees of a failure.
func (f Failure) seen(v Viewer) Failure {
	if v.All && v.Content {
		return f
	}
	f.call, f.Case, f.Repeat = record.Call{}, nil, nil
	f.Log, f.Stack, f.NoCase = "", "", hidden
	if !v.All {
		f.Host = ""
	}
	switch {
	case !v.Content:
		f.Text, f.Remedy = "", ""
	case !v.All:
		f.Text, f.Remedy = f.public, ""
	}
	return f
}
