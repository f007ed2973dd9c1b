package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of sessions.
const (
	maxSessions = 1000
	// maxOfKey bounds the sessions of one key, so that nobody with a key ends those of others.
	maxOfKey = 20
	// idleTime ends a session that nobody uses, and wholeTime each one.
	idleTime, wholeTime = time.Hour, 12 * time.Hour
	// cookieName is the cookie with the random name of a session.
	cookieName = "anchor_console"
)

// session is a user who has signed in.
type session struct {
	id  [sha256.Size]byte // digest of the cookie
	key string            // is checked again with each request
	// csrf is in each form.
	csrf        string
	began, used time.Time
}

// sessions are those of all users, in memory.
type sessions struct {
	now func() time.Time
	// open is in each form if there are no keys.
	open string

	mu   sync.Mutex
	list map[[sha256.Size]byte]*session
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, open: rand.Text(), list: map[[sha256.Size]byte]*session{}}
}

// begin begins a session and returns its cookie. If there are too many of the key, or of all keys, the
// one that was used least recently ends.
func (s *sessions) begin(key string) (*session, string) {
	cookie := rand.Text() + rand.Text()
	now := s.now()
	one := &session{id: sha256.Sum256([]byte(cookie)), key: key, csrf: rand.Text(), began: now, used: now}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound(maxOfKey, now, func(other *session) bool { return other.key == key })
	s.bound(maxSessions, now, func(*session) bool { return true })
	s.list[one.id] = one
	return one, cookie
}

// bound makes room for one more of the sessions that count.
func (s *sessions) bound(most int, now time.Time, counts func(*session) bool) {
	var oldest *session
	n := 0
	for _, other := range s.list {
		switch {
		case !counts(other):
		case s.over(other, now):
			delete(s.list, other.id)
		default:
			if n++; oldest == nil || other.used.Before(oldest.used) {
				oldest = other
			}
		}
	}
	if n >= most {
		delete(s.list, oldest.id)
	}
}

// over reports whether a session has expired.
func (s *sessions) over(one *session, now time.Time) bool {
	return now.Sub(one.used) > idleTime || now.Sub(one.began) > wholeTime
}

// find returns the session of a request, nil if there is none.
func (s *sessions) find(r *http.Request) *session {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	id, now := sha256.Sum256([]byte(c.Value)), s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.list[id]
	if one == nil {
		return nil
	}
	if s.over(one, now) {
		delete(s.list, id)
		return nil
	}
	one.used = now
	return one
}

func (s *sessions) end(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.list, one.id)
}

// same compares secrets. Empty ones are never the same.
func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// Bounds of attempts to sign in: so many from one address within attemptTime, and so many addresses
// that are remembered.
const (
	maxAttempts  = 10
	attemptTime  = time.Minute
	maxAddresses = 1000
)

// attempts counts the attempts to sign in that failed, by address.
type attempts struct {
	now  func() time.Time
	mu   sync.Mutex
	from map[string]*tries
}

type tries struct {
	n     int
	until time.Time
}

// over reports whether attempts count no more. That more than their whole time is left means that
// the clock was set back: nobody is shut out for as long as it jumped.
func (t *tries) over(now time.Time) bool {
	return now.After(t.until) || t.until.Sub(now) > attemptTime
}

func newAttempts(now func() time.Time) *attempts {
	return &attempts{now: now, from: map[string]*tries{}}
}

// take counts an attempt, and reports whether it may be made.
func (a *attempts) take(address string) bool {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.from[address]
	if t == nil || t.over(now) {
		if t == nil && len(a.from) >= maxAddresses {
			a.forget(now)
		}
		t = &tries{until: now.Add(attemptTime)}
		a.from[address] = t
	}
	t.n++
	return t.n <= maxAttempts
}

// forget makes room for an address.
func (a *attempts) forget(now time.Time) {
	first := ""
	for address, t := range a.from {
		if t.over(now) {
			delete(a.from, address)
		} else if first == "" || t.until.Before(a.from[first].until) {
			first = address
		}
	}
	if len(a.from) >= maxAddresses {
		delete(a.from, first)
	}
}

// succeed forgets the attempts of an address.
func (a *attempts) succeed(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.from, address)
}

// addressOf is the address of a client, without its port. Addresses of IPv6 count by their network,
// because one client has many of them.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}
