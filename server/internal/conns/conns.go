// Package conns bounds the connections of a listener, those of one address, and the requests that
// run on them.
package conns

import (
	lists "container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Listener is a listener that bounds its connections, those of one address, and the requests that
// run on them. When there is no room, something new takes the place of a connection that has waited
// long, of the address that has most: first among those that have shown no valid key, then among those
// that have no request which counts for a tenant. If there is none, the new one is refused.
type Listener struct {
	net.Listener
	name      string // the key of its address
	all, each int    // the bounds, of all addresses and of one
	// patience is how long a connection without a valid key may wait.
	patience time.Duration
	log      *slog.Logger

	mu            sync.Mutex
	open, running int
	origins       map[netip.Prefix]*origin
	strangers     lists.List // of *Conn without a valid key, the one that has waited longest in front
	idle          lists.List // of *Conn with a valid key and no request that counts, likewise
	mixed         lists.List // of *Conn with requests that count and others, likewise
	closed        int        // connections that had to go since warned
	warned        time.Time
}

// origin is the connections and running requests of one address.
type origin struct{ open, running int }

// Conn is one connection. The mutex of its listener guards what is below in.
type Conn struct {
	net.Conn
	from netip.Prefix
	// first is when the first byte of the next request came, as a time since epoch. 0: it has not come.
	first atomic.Int64

	in      *Listener
	of      *origin
	gone    bool
	known   bool // the last request that needed a key had a valid one
	served  bool // it has had a request
	running int
	counted int       // of running, those that count for a tenant
	since   time.Time // of the last begin or end of a request
	waits   *lists.List
	place   *lists.Element // in waits
	timer   *time.Timer
}

// epoch is when the times of connections begin. It has the monotonic clock.
var epoch = time.Now()

// New returns a listener that accepts from l at most all connections, and at most each of one address.
// The name is that of the setting of its address, for the log. A connection without a valid key may
// wait for as long as patience.
func New(l net.Listener, name string, all, each int, patience time.Duration, log *slog.Logger) *Listener {
	return &Listener{Listener: l, name: name, all: all, each: each, patience: patience, log: log, origins: map[netip.Prefix]*origin{}}
}

// Accept returns the next connection for which there is room.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, victim := l.enter(&Conn{Conn: raw, in: l, from: originOf(raw.RemoteAddr())})
		if victim != nil {
			_ = victim.Close() // its client reads the end
		}
		if c != nil {
			return c, nil
		}
		_ = raw.Close() // nothing was sent
	}
}

// enter adds a connection, and returns the one that has to go for it. Without room it returns nil.
func (l *Listener) enter(c *Conn) (_, victim *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.of = l.origins[c.from]; c.of == nil {
		c.of = &origin{}
	}
	full := ""
	switch {
	case c.of.open >= l.each:
		full, victim = "max_connections_per_address", longest(func(other *Conn) bool { return other.from == c.from }, &l.strangers, &l.idle)
	case l.open >= l.all:
		full, victim = "max_connections", longest(func(*Conn) bool { return true }, &l.strangers, &l.idle)
	}
	if full != "" {
		l.warn(full, c.from)
		if victim == nil {
			return nil, nil
		}
		victim.leave()
	}
	l.origins[c.from] = c.of
	l.open++
	c.of.open++
	c.timer = time.AfterFunc(l.patience, c.expire)
	c.move()
	return c, victim
}

// compared is how many of the connections that have waited longest longest looks at.
const compared = 64

// longest returns the connection that has to go first among some: of those that have waited longest
// one of the address that has most connections. So however fast an address opens new ones, it pushes
// out its own, and not the one of a probe that has just come.
func longest(among func(*Conn) bool, in ...*lists.List) (first *Conn) {
	for _, waits := range in {
		seen := 0
		for e := waits.Front(); e != nil && seen < compared; e = e.Next() {
			c := e.Value.(*Conn)
			if !among(c) {
				continue
			}
			seen++
			if first == nil || c.of.open > first.of.open {
				first = c
			}
		}
		if first != nil {
			return first
		}
	}
	return nil
}

// warn says that there is no room, now and then.
func (l *Listener) warn(full string, from netip.Prefix) {
	l.closed++
	if time.Since(l.warned) < time.Minute {
		return
	}
	l.log.Warn("as many connections are open as may: those that wait longest are closed for new ones", "listener", l.name, "limit", full, "address", from, "closed", l.closed)
	l.closed, l.warned = 0, time.Now()
}

// move puts the connection where it belongs: it has begun or ended a request, or its key is known.
func (c *Conn) move() {
	c.unlist()
	if c.gone {
		return
	}
	c.since = time.Now()
	switch {
	case !c.known:
		c.waits = &c.in.strangers
	case c.counted == 0:
		c.waits = &c.in.idle
	case c.running > c.counted:
		c.waits = &c.in.mixed
	}
	if c.waits != nil {
		c.place = c.waits.PushBack(c)
	}
	if !c.known && c.running == 0 {
		c.timer.Reset(c.in.patience)
	} else {
		c.timer.Stop()
	}
}

func (c *Conn) unlist() {
	if c.waits != nil {
		c.waits.Remove(c.place)
		c.waits = nil
	}
}

// expire closes a connection without a valid key that waits too long.
func (c *Conn) expire() {
	c.in.mu.Lock()
	late := !c.known && c.running == 0 && time.Since(c.since) >= c.in.patience
	c.in.mu.Unlock()
	if late {
		_ = c.Close()
	}
}

// leave gives the place of the connection back. The caller holds the mutex.
func (c *Conn) leave() {
	if c.gone {
		return
	}
	c.gone = true
	c.unlist()
	c.timer.Stop()
	c.in.open--
	c.of.open--
	c.add(-c.running)
}

// add counts running requests.
func (c *Conn) add(n int) {
	c.in.running += n
	c.of.running += n
	if c.of.open == 0 && c.of.running == 0 && c.in.origins[c.from] == c.of {
		delete(c.in.origins, c.from)
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.in.mu.Lock()
	c.leave()
	c.in.mu.Unlock()
	return c.Conn.Close()
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.first.Load() == 0 {
		c.first.Store(int64(time.Since(epoch)))
	}
	return n, err
}

// Begin begins a request, and returns when its first byte came. It returns false if there is no room
// for it: only as many requests may run as there may be connections, which HTTP/2 can reach. secure
// says that the connection has TLS, and version is that of HTTP.
func (c *Conn) Begin(secure bool, version int) (first time.Time, ok bool) {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if c.gone || !c.in.makeRoom(c) {
		return first, false
	}
	first = time.Now()
	if at := c.first.Load(); at != 0 && version == 1 && (c.served || !secure) { // or it is that of the handshake
		first = epoch.Add(time.Duration(at))
	}
	c.add(1)
	c.running++
	c.served = true
	c.move()
	return first, true
}

// makeRoom makes room for a request of a connection. Others that have requests which count for nobody,
// such as answers that nobody reads, have to go for it. One request that counts does not keep many
// others of its connection. A connection with fewer such requests than c stays: it is not the one that
// fills the room, and its only request may be about to count.
func (l *Listener) makeRoom(c *Conn) bool {
	for l.running >= l.all || c.of.running >= l.each {
		victim := longest(func(other *Conn) bool {
			free := other.running - other.counted
			return other != c && free > 0 && free >= c.running-c.counted && (l.running >= l.all || other.of == c.of)
		}, &l.strangers, &l.idle, &l.mixed)
		if victim == nil {
			return false
		}
		victim.leave()
		_ = victim.Conn.Close() // its client reads the end
	}
	return true
}

// End ends a request.
func (c *Conn) End() {
	c.first.Store(0)
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if c.running--; !c.gone {
		c.add(-1)
	}
	c.move()
}

// Count says that a request of the connection counts for a tenant, or no longer does.
func (c *Conn) Count(n int) {
	if c == nil { // the listener is that of another program
		return
	}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.counted += n
	c.move()
}

// Know says whether the request that runs has a valid key.
func (c *Conn) Know(valid bool) {
	if c == nil { // the listener is that of another program
		return
	}
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	if c.known != valid {
		c.known = valid
		c.move()
	}
}

// originOf returns the address that counts as one client: of IPv6 the network, of which a client has
// all addresses.
func originOf(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip := at.Addr().Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}

type connKey struct{}

// With adds the connection to the context of its requests.
func With(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	if c, ok := c.(*Conn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// Of returns the connection of a request, nil if the listener is that of another program.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}
