package failures

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/recording"
)

// rows are failures within the bounds. Nobody changes one that is in rows.
type rows struct {
	plugins map[string][]*Failure // by plugin, the newest first
	size    int64
}

// add adds a failure, or its count to that of the same one. It returns how often the failures happened that
// had to go for it.
func (r *rows) add(n *Failure) (dropped int64) {
	if r.plugins == nil {
		r.plugins = map[string][]*Failure{}
	}
	if list := r.plugins[n.Plugin]; list == nil && len(r.plugins) == MaxPlugins {
		dropped += r.drop(r.oldest())
	}
	r.keep(n)
	for len(r.plugins[n.Plugin]) > MaxOfPlugin {
		dropped += r.dropOf(n.Plugin)
	}
	for r.size > MaxBytes {
		dropped += r.dropOf(r.largest())
	}
	return dropped
}

// keep puts a failure first among those of its plugin. What repeats an earlier call stays if that was for the
// same owner: what is deleted goes by the owner of a row.
func (r *rows) keep(n *Failure) {
	list := r.plugins[n.Plugin]
	if i := slices.IndexFunc(list, func(o *Failure) bool { return o.key == n.key }); i >= 0 {
		old := list[i]
		n.First, n.Count = old.First, old.Count+n.Count
		if !n.repeats() && old.repeats() && n.owner == old.owner {
			n.call, n.Case, n.Repeat, n.NoCase, n.flags = old.call, old.Case, old.Repeat, "", old.flags
		}
		r.size -= old.size()
		list = slices.Delete(list, i, i+1)
	}
	r.size += n.size()
	r.plugins[n.Plugin] = slices.Insert(list, 0, n)
}

// dropOf drops the oldest failure of the tenant that has most of those of a plugin, so that no tenant
// drives out what others met.
func (r *rows) dropOf(plugin string) (dropped int64) {
	list := r.plugins[plugin]
	counts := map[string]int{}
	for _, f := range list {
		counts[f.Tenant]++
	}
	at, most := len(list)-1, 0
	for i := len(list) - 1; i >= 0; i-- {
		if n := counts[list[i].Tenant]; n > most {
			at, most = i, n
		}
	}
	dropped = list[at].Count
	r.remove(list[at])
	return dropped
}

// remove removes a failure that is there.
func (r *rows) remove(f *Failure) {
	list := r.plugins[f.Plugin]
	i := slices.Index(list, f)
	r.size -= f.size()
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(r.plugins, f.Plugin)
		return
	}
	r.plugins[f.Plugin] = list
}

// drop drops all failures of a plugin.
func (r *rows) drop(plugin string) (dropped int64) {
	for _, f := range r.plugins[plugin] {
		r.size -= f.size()
		dropped += f.Count
	}
	delete(r.plugins, plugin)
	return dropped
}

// oldest is the plugin that has not failed for longest.
func (r *rows) oldest() (name string) {
	for plugin, list := range r.plugins {
		if name == "" || list[0].Last.Before(r.plugins[name][0].Last) {
			name = plugin
		}
	}
	return name
}

// largest is the plugin whose failures take most.
func (r *rows) largest() (name string) {
	most := int64(-1)
	for plugin, list := range r.plugins {
		size := int64(0)
		for _, f := range list {
			size += f.size()
		}
		if size > most {
			name, most = plugin, size
		}
	}
	return name
}

// all are the failures, the oldest first.
func (r *rows) all() (list []*Failure) {
	for _, of := range r.plugins {
		list = append(list, of...)
	}
	slices.SortFunc(list, func(a, b *Failure) int { return a.Last.Compare(b.Last) })
	return list
}

// failureOf is a failure on a host in the form in which it is kept.
func failureOf(host string, f *record.Failure) *Failure {
	n := &Failure{
		Host: host, Plugin: f.Plugin, Count: 1, First: f.Time, Last: f.Time, Tenant: f.Tenant, Operation: string(f.Operation), Step: f.Step, Reason: string(f.Reason),
		Text: clip(f.Err, maxText), public: clip(f.Public, maxText), Remedy: clip(f.Remedy, maxText), Log: clip(f.Output, maxOutput), Stack: clip(f.Stack, maxOutput),
		Module: f.Module, Digest: f.Digest, owner: Owner{f.Tenant, f.User, f.Conversation, f.Run},
		flags: []string{"--timeout", f.Timeout.String(), "--fuel", strconv.FormatInt(f.Fuel, 10), "--memory-max", fmt.Sprintf("%dKiB", f.Memory>>10)},
	}
	n.identify()
	c := f.Call
	c.Err, c.Answer, c.Hide = strings.TrimSuffix(n.Text, cut), nil, nil
	_, known := abi.LookupOperation(f.Operation)
	switch {
	case !known:
		n.NoCase = "only operations of the contract can be repeated"
	case c.LeftOut > 0 || c.Size() > maxCall:
		n.NoCase = fmt.Sprintf("the call took more than %d bytes with what it asked the host for", record.MaxFailureBytes)
	case c.Request == nil:
		n.NoCase = fmt.Sprintf("the plugin did not receive the request, or the request is larger than %d bytes", record.MaxFailureBytes)
	default:
		n.call = c
	}
	return n
}

// idBits is the length of an ID: short enough to type, and two of all that are kept hardly ever have the same.
const idBits = 40

// identify sets what failures of the same kind have in common. The text of a trap is the same for most panics
// of a language; the stack tells them apart.
func (f *Failure) identify() {
	of := []string{f.Host, f.Plugin, f.Tenant, f.Operation, f.Step, f.Reason, f.Text, f.Digest}
	if f.Reason == string(abi.ReasonTrap) {
		of = append(of, f.Stack)
	}
	f.key = digest(of...)
	f.ID, _ = strconv.ParseInt(f.key[:idBits/4], 16, 64) // hex digits
}

// digest stands for a list of texts.
func digest(of ...string) string {
	h := sha256.New()
	for _, s := range of {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// repeats reports whether something repeats the call.
func (f *Failure) repeats() bool { return f.call.Request != nil || f.Case != nil }

// complete makes the case of the call.
func (f *Failure) complete() {
	if f.call.Request == nil {
		return
	}
	own, err := recording.Case(f.Operation+" fails with "+f.Reason, f.call)
	if err == nil {
		f.Case, err = recording.Encode(own)
	}
	f.call = record.Call{}
	if err != nil {
		f.Case, f.NoCase = nil, clip(err.Error(), maxText)
		return
	}
	f.Repeat = append([]string{abi.Operation(f.Operation).JSONExport()}, f.flags...)
}

// cut ends a text that is cut.
const cut = " …"

// clip is the beginning of a text, without a character that is cut.
func clip(s string, most int) string {
	if len(s) <= most {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:most], "") + cut
}
