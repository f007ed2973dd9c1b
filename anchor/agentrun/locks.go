package agentrun

import (
	"context"
	"sync"

	"github.com/anchor-host/anchor-host/internal/agentstore"
)

// Locks has one lock for each agent run that is being written to. A lock that nobody
// holds or waits for is freed.
type Locks struct {
	mu   sync.Mutex
	held map[runName]*runLock
}

type runName struct{ tenant, id string }

type runLock struct {
	room  chan struct{} // holds a value while the run is locked
	users int           // hold the lock or wait for it; guarded by Locks.mu
}

// Lock locks a run, and returns what unlocks it. Its error is that of ctx.
func (l *Locks) Lock(ctx context.Context, r *agentstore.Run) (unlock func(), err error) {
	name := runName{r.Tenant, r.ID}
	l.mu.Lock()
	if l.held == nil {
		l.held = map[runName]*runLock{}
	}
	one := l.held[name]
	if one == nil {
		one = &runLock{room: make(chan struct{}, 1)}
		l.held[name] = one
	}
	one.users++
	l.mu.Unlock()
	select {
	case one.room <- struct{}{}:
	case <-ctx.Done():
		l.leave(name, one)
		return nil, ctx.Err()
	}
	return func() {
		<-one.room
		l.leave(name, one)
	}, nil
}

func (l *Locks) leave(name runName, one *runLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.held, name)
	}
}

// Held returns how many runs are locked or waited for.
func (l *Locks) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}
