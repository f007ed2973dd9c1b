package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// noticed is how long a server keeps a connection of which nothing arrives, as with tcp_keepalives_idle=8. With
// the default of Linux, two hours, such connections use up those that it has.
const noticed = 10 * time.Second

// wire is the network between one host and the database. It can be cut in the ways of a network.
type wire struct {
	listener net.Listener
	to       string
	// lost says that nothing arrives any more, on connections that are there and on new ones. Nobody is told.
	lost atomic.Bool

	mu    sync.Mutex
	pairs map[*pair]bool
}

// pair is one connection.
type pair struct {
	host, server net.Conn
	lost         atomic.Bool
}

func newWire(to string) (*wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{listener: l, to: to, pairs: map[*pair]bool{}}
	go w.accept()
	return w, nil
}

func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		c, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.connect(c)
	}
}

func (w *wire) connect(host net.Conn) {
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		host.Close()
		return
	}
	p := &pair{host: host, server: server}
	w.mu.Lock()
	w.pairs[p] = true
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { w.copy(p, server, host) })
	both.Go(func() { w.copy(p, host, server) })
	both.Wait()
	w.mu.Lock()
	delete(w.pairs, p)
	w.mu.Unlock()
}

// copy passes bytes on, or swallows them. The end of one side is that of the other, unless it is lost too.
func (w *wire) copy(p *pair, to io.Writer, from net.Conn) {
	block := make([]byte, 32<<10)
	for {
		n, err := from.Read(block)
		if p.lost.Load() || w.lost.Load() {
			p.lost.Store(true)
		} else if n > 0 {
			_, werr := to.Write(block[:n])
			if werr != nil {
				err = werr
			}
		}
		if err != nil {
			from.Close()
			if !p.lost.Load() {
				p.host.Close()
				p.server.Close()
			} else if from == p.host {
				time.AfterFunc(noticed, func() { p.server.Close() })
			}
			return
		}
	}
}

// halve makes the connections that are there lose everything from now on, while both ends count as open.
func (w *wire) halve() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.pairs {
		p.lost.Store(true)
		n++
	}
	return n
}

// close ends all connections and takes no more.
func (w *wire) close() {
	w.listener.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.pairs {
		p.host.Close()
		p.server.Close()
	}
}
