// Package aside keeps apart what plugins store in their key-value stores under a context. A build that
// repeats another reads what is stored, and its plugins read what they have written themselves; nothing of
// it outlives the build.
package aside

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

// Owner is a plugin and the tenant that it stores values for.
type Owner struct{ Plugin, Tenant string }

// overhead is what each key counts besides its bytes, as in the stores themselves.
const overhead = 64

// Values are what plugins have stored under a context. They are safe for concurrent use.
type Values struct {
	mu     sync.Mutex
	owners map[Owner]*entries
}

type entries struct {
	used   int64
	values map[string][]byte // nil: the key is deleted
}

type contextKey struct{}

// Under returns a context under which plugins store nothing that outlives it.
func Under(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, &Values{owners: map[Owner]*entries{}})
}

// Of returns the values of a context, nil if plugins store what they store for good.
func Of(ctx context.Context) *Values {
	v, _ := ctx.Value(contextKey{}).(*Values)
	return v
}

// Get returns the value of a key, and whether it was set or deleted. Nobody changes the value.
func (v *Values) Get(at Owner, key string) (value []byte, found bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e := v.owners[at]; e != nil {
		value, found = e.values[key]
	}
	return value, found
}

// Set stores a copy of a value, or notes that the key is deleted if it is empty. It reports whether the
// owner then has at most quota bytes here; what is stored for good does not count. If the value
// does not fit, nothing changes.
func (v *Values) Set(at Owner, quota int64, key string, value []byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.owners[at]
	if e == nil {
		e = &entries{values: map[string][]byte{}}
	}
	more := int64(len(key)+len(value)) + overhead
	if old, had := e.values[key]; had {
		more -= int64(len(key)+len(old)) + overhead
	}
	if e.used+more > quota {
		return false
	}
	if len(value) == 0 {
		value = nil
	}
	e.values[strings.Clone(key)] = bytes.Clone(value)
	e.used += more
	v.owners[at] = e
	return true
}
