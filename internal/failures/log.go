package failures

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/recording"
)

// Log keeps the last failures. Its zero value is ready for use, and nil keeps nothing. It is safe for
// concurrent use.
type Log struct {
	mu      sync.Mutex
	last    int64                 // the id
	plugins map[string][]*Failure // by plugin, the newest first
	size    int64
}

// Add keeps a failure. What the caller has cancelled, and what a paused plugin was not asked, is none.
func (l *Log) Add(f record.Failure) {
	if l == nil || f.Reason == abi.ReasonCancelled || f.Reason == abi.ReasonCircuitOpen {
		return
	}
	n := failureOf(&f)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plugins == nil {
		l.plugins = map[string][]*Failure{}
	}
	if list := l.plugins[n.Plugin]; list == nil && len(l.plugins) == MaxPlugins {
		l.drop(l.oldest())
	}
	l.keep(n)
	for len(l.plugins[n.Plugin]) > MaxOfPlugin {
		l.dropOf(n.Plugin)
	}
	for l.size > MaxBytes {
		l.dropOf(l.largest())
	}
}

// keep puts a failure first among those of its plugin.
func (l *Log) keep(n *Failure) {
	list := l.plugins[n.Plugin]
	if i := slices.IndexFunc(list, n.same); i >= 0 {
		old := list[i]
		n.ID, n.First, n.Count = old.ID, old.First, old.Count+1
		if n.call.Request == nil && old.call.Request != nil {
			n.call, n.NoCase, n.flags = old.call, "", old.flags
		}
		l.size -= old.size()
		list = slices.Delete(list, i, i+1)
	} else {
		l.last++
		n.ID = l.last
	}
	l.size += n.size()
	l.plugins[n.Plugin] = slices.Insert(list, 0, n)
}

// same reports whether both failed in the same way. The text of a trap is the same for most panics of
// a language; the stack tells them apart.
func (f *Failure) same(o *Failure) bool {
	return (f.Reason != string(abi.ReasonTrap) || f.Stack == o.Stack) && f.Tenant == o.Tenant && f.Operation == o.Operation && f.Step == o.Step && f.Reason == o.Reason && f.Text == o.Text && f.Digest == o.Digest
}

// dropOf drops the oldest failure of the tenant that has most of those of a plugin, so that no tenant
// drives out what others met.
func (l *Log) dropOf(plugin string) {
	list := l.plugins[plugin]
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
	l.size -= list[at].size()
	if list = slices.Delete(list, at, at+1); len(list) == 0 {
		delete(l.plugins, plugin)
		return
	}
	l.plugins[plugin] = list
}

// drop drops all failures of a plugin.
func (l *Log) drop(plugin string) {
	for _, f := range l.plugins[plugin] {
		l.size -= f.size()
	}
	delete(l.plugins, plugin)
}

// oldest is the plugin that has not failed for longest.
func (l *Log) oldest() (name string) {
	for plugin, list := range l.plugins {
		if name == "" || list[0].Last.Before(l.plugins[name][0].Last) {
			name = plugin
		}
	}
	return name
}

// largest is the plugin whose failures take most.
func (l *Log) largest() (name string) {
	most := int64(-1)
	for plugin, list := range l.plugins {
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

// Of returns the failures of a plugin that a viewer sees, the newest first; plugin "" stands for all.
func (l *Log) Of(v Viewer, plugin string) List {
	doc := List{Failures: []Failure{}}
	if l == nil {
		return doc
	}
	l.mu.Lock()
	for name, list := range l.plugins {
		for _, f := range list {
			if (plugin == "" || name == plugin) && (v.All || f.Tenant == v.Tenant) {
				doc.Failures = append(doc.Failures, f.seen(v))
			}
		}
	}
	l.mu.Unlock()
	for i := range doc.Failures {
		doc.Failures[i].repeated()
	}
	slices.SortFunc(doc.Failures, func(a, b Failure) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(b.ID, a.ID)) })
	return doc
}

// failureOf is a failure in the form in which it is kept.
func failureOf(f *record.Failure) *Failure {
	n := &Failure{
		Plugin: f.Plugin, Count: 1, First: f.Time, Last: f.Time, Tenant: f.Tenant, Operation: string(f.Operation), Step: f.Step, Reason: string(f.Reason),
		Text: clip(f.Err, maxText), public: clip(f.Public, maxText), Remedy: clip(f.Remedy, maxText), Log: clip(f.Output, maxOutput), Stack: clip(f.Stack, maxOutput),
		Module: f.Module, Digest: f.Digest,
		flags: []string{"--timeout", f.Timeout.String(), "--fuel", strconv.FormatInt(f.Fuel, 10), "--memory-max", fmt.Sprintf("%dKiB", f.Memory>>10)},
	}
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

// repeated completes a failure with what repeats it.
func (f *Failure) repeated() {
	if f.call.Request == nil {
		return
	}
	own, err := recording.Case(f.Operation+" fails with "+f.Reason, f.call)
	if err == nil {
		f.Case, err = recording.Encode(own)
	}
	if err != nil {
		f.NoCase = clip(err.Error(), maxText)
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
