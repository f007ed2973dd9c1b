package pdk

import "github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"

// The host keeps a key-value store for each configured plugin and tenant, across calls and
// instances. A plugin needs the permission kv, whose quota bounds the bytes of each tenant.
// Without the permission, using the store ends the call with the reason denied. Init runs
// without a tenant; calls without a tenant see what init has stored.

// The statuses for a value that exceeds the quota of the plugin, or the room that the host
// has for all plugins.
const (
	kvQuota = 1
	kvFull  = 2
)

// KVGet returns the value of key, or [ErrNotFound].
func KVGet(key string) ([]byte, error) {
	v, ok := imports.KVGet(key)
	if !ok {
		return nil, Errorf("kv: get %q: %w", key, ErrNotFound)
	}
	return v, nil
}

// KVSet stores a value under key. The value must not be empty, because the host deletes the
// key of an empty value. Errors: [ErrQuota], [ErrFull].
func KVSet(key string, value []byte) error {
	if len(value) == 0 {
		return Errorf("kv: set %q: value is empty (use KVDelete to remove a key)", key)
	}
	return kvResult("set", key, imports.KVSet(key, value))
}

// KVDelete removes key. It is not an error if the key has no value.
func KVDelete(key string) error {
	return kvResult("delete", key, imports.KVSet(key, nil))
}

func kvResult(what, key string, status int32) error {
	switch status {
	case 0:
		return nil
	case kvQuota:
		return Errorf("kv: %s %q: %w", what, key, ErrQuota)
	case kvFull:
		return Errorf("kv: %s %q: %w", what, key, ErrFull)
	}
	return Errorf("kv: %s %q: host answered status %d", what, key, status)
}
