package anchor

import (
	"context"
	"sync"

	"github.com/anchor-host/anchor-host/internal/agentstore"
)

// runLocks has one lock for each agent run that is being written to. A lock that nobody
// holds or waits for is freed.
type runLocks struct {
	mu   sync.Mutex
	held map[runName]*runLock
}

type runName struct{ tenant, id string }

type runLock struct {
	room  chan struct{} // holds a value while the run is locked
	users int           // hold the lock or wait for it; guarded by runLocks.mu
}

// lock locks a run, and returns what unlocks it. Its error is that of ctx.
func (l *runLocks) lock(ctx context.Context, r *agentstore.Run) (unlock func(), err error) {
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
	if err := take(ctx, one.room); err != nil {
		l.leave(name, one)
		return nil, err
	}
	return func() {
		<-one.room
		l.leave(name, one)
	}, nil
}

func (l *runLocks) leave(name runName, one *runLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.held, name)
	}
}
