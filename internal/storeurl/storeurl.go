// Package storeurl is about names of stores that are URLs of databases, and no paths of files.
package storeurl

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Settings are what a configuration says about a database beside its URL. A URL has them as parameters, so
// that a store has one name. Zero values mean the defaults.
type Settings struct {
	// Pool is the greatest number of connections.
	Pool int
	// Timeout is how long a statement may run.
	Timeout time.Duration
	// Replica is the URL of a replica.
	Replica string
}

// The parameters of a URL that are settings, and no parameters of a connection.
const (
	pool    = "pool"
	timeout = "timeout"
	replica = "replica"
)

// Is reports whether a name of a store is the URL of a database.
func Is(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// Check refuses a name that is meant as a database and would be that of a file, which would then have the
// password in its name. The error does not quote it.
func Check(name string) error {
	lower := strings.ToLower(name)
	for _, sign := range []string{"://", "postgres:/", "postgresql:/", "dbname=", "password="} {
		if !Is(name) && strings.Contains(lower, sign) {
			return fmt.Errorf("store.path has %q, but is no URL of a database (write postgres://USER@HOST/DATABASE, or the path of a file)", sign)
		}
	}
	return nil
}

// Address returns the name of a store for messages: a URL without password and settings, or the clean path
// of a file.
func Address(name string) string {
	if Check(name) != nil {
		return "store" // it may have a password
	}
	if !Is(name) {
		return filepath.Clean(name)
	}
	u, err := url.Parse(name)
	if err != nil {
		return "postgres://" // the rest may be a password
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for _, key := range []string{"password", "sslpassword", pool, timeout, replica} {
		q.Del(key)
	}
	u.RawQuery, u.Fragment = q.Encode(), ""
	return u.String()
}

// With returns a URL with settings, and a path as it is. Settings that the URL has stay.
func With(name string, s Settings) string {
	u, err := url.Parse(name)
	if err != nil || !Is(name) {
		return name
	}
	q := u.Query()
	set := func(key, value string, is bool) {
		if is && !q.Has(key) {
			q.Set(key, value)
		}
	}
	set(pool, strconv.Itoa(s.Pool), s.Pool != 0)
	set(timeout, s.Timeout.String(), s.Timeout != 0)
	set(replica, s.Replica, s.Replica != "")
	u.RawQuery = q.Encode()
	return u.String()
}

// Split returns a URL without settings, and these. Errors do not quote the URL.
func Split(name string) (string, Settings, error) {
	var s Settings
	u, err := url.Parse(name)
	if err != nil {
		return "", s, fmt.Errorf("not a URL (write postgres://USER@HOST/DATABASE, and %%xx for special characters of a password)")
	}
	q := u.Query()
	if v := q.Get(pool); v != "" {
		if s.Pool, err = strconv.Atoi(v); err != nil {
			return "", s, fmt.Errorf("pool: %q is no number", v)
		}
	}
	if v := q.Get(timeout); v != "" {
		if s.Timeout, err = time.ParseDuration(v); err != nil {
			return "", s, fmt.Errorf("timeout: %q is no duration such as 10s", v)
		}
	}
	s.Replica = q.Get(replica)
	for _, key := range []string{pool, timeout, replica} {
		q.Del(key)
	}
	u.RawQuery = q.Encode()
	return u.String(), s, nil
}
