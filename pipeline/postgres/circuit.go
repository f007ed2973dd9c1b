package postgres

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

const (
	// openAfter is the number of failures in a row after which calls fail at once.
	openAfter = 3
	// openFor is about how long they do, until one of them tries again.
	openFor = time.Second
)

// circuit makes calls fail at once while the server is away.
type circuit struct {
	mu       sync.Mutex
	failures int       // in a row
	until    time.Time // calls fail until then
}

// allow returns an error while the circuit is open. After a while it lets one call through.
func (c *circuit) allow() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failures < openAfter {
		return nil
	}
	now := time.Now()
	if now.Before(c.until) {
		said := &serverError{text: fmt.Sprintf("the server did not answer the last %d calls: try again in %v", c.failures, openFor)}
		return fmt.Errorf("%w: %w (start PostgreSQL, or correct store.path)", store.ErrBusy, said)
	}
	c.until = now.Add(openFor/2 + rand.N(openFor))
	return nil
}

// note counts a call that reached the server, or one that did not.
func (c *circuit) note(reached bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reached {
		c.failures = 0
		return
	}
	if c.failures++; c.failures == openAfter {
		c.until = time.Now().Add(openFor/2 + rand.N(openFor))
	}
}
