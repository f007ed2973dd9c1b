package sqlite

import "sync"

// pool has the connections that read. The one that was returned last is taken first, because it has in memory what
// was read last, and no connection is opened while one is idle.
type pool struct {
	free chan struct{} // one for each connection that is not in use
	mu   sync.Mutex
	idle []*conn
}

func newPool(size int) *pool {
	p := &pool{free: make(chan struct{}, size)}
	for range size {
		p.free <- struct{}{}
	}
	return p
}

// take returns a connection to the caller who received from free, nil if it has to be opened.
func (p *pool) take() (c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		c, p.idle = p.idle[last], p.idle[:last]
	}
	return c
}

// put takes back a connection, nil for one that is closed.
func (p *pool) put(c *conn) {
	if c != nil {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	p.free <- struct{}{}
}
