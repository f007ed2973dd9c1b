package conns

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener in memory, whose clients have addresses.
type pipes struct{ next chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.next
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// pipe is one end of a connection in memory.
type pipe struct {
	net.Conn
	from string
}

func (p pipe) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(p.from))
}

// opened is a connection of a listener in memory: what the server has, and the end of the client.
func opened(t *testing.T, l *Listener, from string) (*Conn, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	l.Listener.(pipes).next <- pipe{ours, from}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), theirs.Close() })
	return c.(*Conn), theirs
}

func newPipes(all, each int) *Listener {
	return New(pipes{make(chan net.Conn, 1)}, "test", all, each, 10*time.Second, slog.New(slog.DiscardHandler))
}

func alive(list ...*Conn) string {
	var b strings.Builder
	for _, c := range list {
		c.in.mu.Lock()
		fmt.Fprint(&b, map[bool]string{true: "-", false: "+"}[c.gone])
		c.in.mu.Unlock()
	}
	return b.String()
}

// What is new takes the place of what has waited longest: first of connections without a valid key, then
// of those with one that have no request. Those of a request that counts stay.
func TestConnectionsMakeRoom(t *testing.T) {
	l := newPipes(4, 4)
	var list [7]*Conn
	for i := range 4 {
		list[i], _ = opened(t, l, fmt.Sprintf("10.0.0.%d:1", i+1))
	}
	for i := range 2 { // the first two have a key, and the second a request
		if _, ok := list[i].Begin(false, 1); !ok {
			t.Fatal("no room for a request")
		}
		list[i].Know(true)
		list[i].Count(1)
	}
	list[0].Count(-1)
	list[0].End()
	for i, want := range []string{"++-++", "++--++", "-+--+++"} {
		list[4+i], _ = opened(t, l, fmt.Sprintf("10.0.1.%d:1", i+1))
		if i < 2 {
			_, _ = list[4+i].Begin(false, 1)
			list[4+i].Know(true)
			list[4+i].Count(1)
		}
		if got := alive(list[:5+i]...); got != want {
			t.Fatalf("after connection %d: %s, want %s", 5+i, got, want)
		}
	}
	list[6].Know(true)
	_, _ = list[6].Begin(false, 1)
	list[6].Count(1)
	ours, theirs := net.Pipe()
	if c, victim := l.enter(&Conn{Conn: ours, in: l, from: originOf(pipe{ours, "10.0.2.1:1"}.RemoteAddr())}); c != nil || victim != nil {
		t.Error("a connection with a request had to go")
	}
	_, _ = ours.Close(), theirs.Close()
	for _, c := range list {
		_ = c.Close()
	}
	if l.open != 0 || l.running != 0 || len(l.origins) != 0 {
		t.Errorf("%d connections, %d requests and %d addresses are left", l.open, l.running, len(l.origins))
	}
}

// A connection full of requests that count for nobody does not close one whose only request is about to
// count: its key is not read yet.
func TestFloodClosesNobody(t *testing.T) {
	l := newPipes(4, 4)
	good, _ := opened(t, l, "10.0.0.1:1")
	_, _ = good.Begin(true, 2)
	good.Know(true)
	good.Count(1)
	good.Count(-1)
	good.End()
	flood, _ := opened(t, l, "10.0.0.1:2")
	_, _ = good.Begin(true, 2)
	for i := range 10 {
		if _, ok := flood.Begin(true, 2); ok != (i < 3) {
			t.Errorf("request %d of the flood: %v", i, ok)
		}
	}
	_, room := good.Begin(true, 2) // the flood has to go
	if got := alive(good, flood); got != "+-" || !room {
		t.Errorf("%s, room for the next: %v", got, room)
	}
}

// Addresses that open one connection after the other push out their own.
func TestConnectionsOfOthersStay(t *testing.T) {
	l := newPipes(4, 4)
	probe, _ := opened(t, l, "10.0.0.1:1")
	for i := range 20 {
		opened(t, l, fmt.Sprintf("10.0.1.%d:1", i%2+1))
	}
	if got := alive(probe); got != "+" {
		t.Error("the connection of another address had to go")
	}
}

// One address has a part of the places, and its flood closes its own connections. In IPv6 a network is one
// address.
func TestConnectionsOfOneAddress(t *testing.T) {
	for _, from := range []string{"10.0.0.1:%d", "[2001:db8::%x]:1"} {
		l := newPipes(8, 2)
		other, _ := opened(t, l, "10.0.0.2:1")
		var list []*Conn
		for i := range 20 {
			c, _ := opened(t, l, fmt.Sprintf(from, i+1))
			list = append(list, c)
		}
		if got := alive(append(list, other)...); got != strings.Repeat("-", 18)+"+++" {
			t.Errorf("%s: %s", from, got)
		}
	}
}

// A connection without a valid key is closed when it waits; one with a key stays.
func TestStrangersDoNotStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes(8, 8)
		silent, _ := opened(t, l, "10.0.0.1:1")
		asking, _ := opened(t, l, "10.0.0.1:2")
		keyed, _ := opened(t, l, "10.0.0.1:3")
		revoked, _ := opened(t, l, "10.0.0.1:4")
		busy, _ := opened(t, l, "10.0.0.1:5")
		request := func(c *Conn, key bool) {
			_, _ = c.Begin(false, 1)
			c.Know(key)
			c.End()
		}
		request(keyed, true)
		request(revoked, true)
		_, _ = busy.Begin(false, 1)
		for i, want := range []string{"+++++", "-++++", "-++++", "-++-+"} {
			time.Sleep(6 * time.Second)
			if got := alive(silent, asking, keyed, revoked, busy); got != want {
				t.Errorf("after %d s: %s, want %s", 6*(i+1), got, want)
			}
			request(asking, false)
			if i == 1 {
				request(revoked, false)
			}
		}
		busy.End()
	})
}

// The deadline of a request begins with the first byte of its header.
func TestDeadlineBeginsWithTheHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes(8, 8)
		c, client := opened(t, l, "10.0.0.1:1")
		c.Know(true)
		for _, secure := range []bool{false, true} {
			time.Sleep(time.Hour)
			began := time.Now()
			for range 2 {
				go func() { _, _ = client.Write([]byte("G")) }()
				if _, err := c.Read(make([]byte, 9)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			if first, ok := c.Begin(secure, 1); !ok || !first.Equal(began) {
				t.Errorf("the request begins %v late", first.Sub(began))
			}
			c.End()
		}
	})
}

// A program with a listener of its own has no bounds of connections.
func TestHandlerWithoutListener(t *testing.T) {
	if Of(context.Background()) != nil {
		t.Error("a connection")
	}
	Of(context.Background()).Know(true)
	Of(context.Background()).Count(1)
}
