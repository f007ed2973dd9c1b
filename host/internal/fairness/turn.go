package fairness

import (
	"runtime"
	"time"
)

// Turn is the work of an account on one goroutine, which alone uses it. [Account.Turn]
// makes one, which may be used again after its end.
//
// What goes on the account is the time that passed, but no more than the work itself can
// have taken: most, which callers state for the turn as a whole. A goroutine that was not
// run for a while has used nothing.
type Turn struct {
	account *Account
	// held says that it has a slot, paused that it needs none, waits that it waits for
	// one, which the queue's mutex guards.
	held, paused, waits bool
	// since is up to when its work is on the account, looked when it last was looked at,
	// ran when the Go scheduler last let others run.
	since, looked, ran time.Duration
	// most is the work that was done up to since, at most.
	most time.Duration
	// granted has room for one slot.
	granted chan struct{}
}

// Turn returns a turn of the account.
func (a *Account) Turn() Turn { return Turn{account: a, granted: make(chan struct{}, 1)} }

// Enter takes a slot before a turn begins, as it must where the queue is pressed. It waits
// for one at most as long as patience, until done or closed, and reports whether it has one.
func (t *Turn) Enter(patience time.Duration, done, closed <-chan struct{}) bool {
	now := t.account.queue.now()
	t.restart(now)
	return t.take(now) || t.Wait(patience, done, closed)
}

// Begin begins a turn at the time now. One that has a slot keeps it.
func (t *Turn) Begin(now time.Duration) {
	t.restart(now)
	t.most = 0
}

// Held reports whether the turn has a slot.
func (t *Turn) Held() bool { return t.held }

// restart has the turn work from now on.
func (t *Turn) restart(now time.Duration) { t.since, t.looked, t.ran, t.paused = now, now, now, false }

// Due reports whether Yields must be called at a safe point of the work, at the time now.
func (t *Turn) Due(now time.Duration) bool { return now-t.looked >= Grace && !t.paused }

// Yields looks at a turn that is due. It reports whether the turn has to wait for a slot:
// then Wait must be called next. It may let other goroutines run.
func (t *Turn) Yields(now, most time.Duration) bool {
	t.looked = now
	q := t.account.queue
	switch {
	case !t.held:
		if !t.takeFor(now, most) {
			return true
		}
	case q.Pressed() && t.handsOver(now, most):
		return true
	}
	if now-t.ran >= Uninterrupted {
		t.settle(now, most)
		runtime.Gosched()
		t.restart(q.now())
	}
	return false
}

// settle puts the work until now on the account.
func (t *Turn) settle(now, most time.Duration) {
	q := t.account.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	t.charge(now, most)
}

// charge is settle for who holds the queue's mutex.
func (t *Turn) charge(now, most time.Duration) {
	t.account.charge(min(now-t.since, most-t.most), now)
	t.since, t.most = now, most
}

// take takes a slot if there is one, else it makes the turn wait.
func (t *Turn) take(now time.Duration) bool { return t.takeFor(now, t.most) }

// takeFor is take for a turn that has worked already.
func (t *Turn) takeFor(now, most time.Duration) bool {
	q := t.account.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	t.charge(now, most)
	t.held = q.take(t, now)
	return t.held
}

// handsOver gives the slot to another account that used less, if one waits, and waits in
// its place.
func (t *Turn) handsOver(now, most time.Duration) bool {
	a, q := t.account, t.account.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	t.charge(now, most)
	if len(q.waiting) == 0 || a.used(now) <= q.waiting[0].used(now)+Grain.Seconds() {
		return false
	}
	q.next()
	a.append(t)
	t.held = false
	return true
}

// Wait waits for a slot, at most as long as patience, until done or closed, and reports
// whether the turn has one. Without, it has to end.
func (t *Turn) Wait(patience time.Duration, done, closed <-chan struct{}) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-t.granted:
		t.held = true
	case <-done:
	case <-closed:
	case <-timer.C:
	}
	t.held = t.held || !t.forget()
	t.restart(t.account.queue.now())
	return t.held
}

// forget has a turn wait no more, and reports whether it still did. Else it has a slot.
func (t *Turn) forget() bool {
	q := t.account.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.waits {
		t.account.remove(t)
		return true
	}
	<-t.granted
	return false
}

// Pause puts the work until now on the account, and gives the slot back while the work
// blocks.
func (t *Turn) Pause(most time.Duration) {
	q := t.account.queue
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	t.charge(now, most)
	if t.held {
		t.held = false
		q.release()
	}
	t.paused = true
}

// Resume ends a pause. Up to [Grace] of it counts as work: what returns sooner hardly waited,
// and who pauses again and again is not without cost. It reports whether the turn has to wait for a slot: then Wait must
// be called next.
func (t *Turn) Resume() bool {
	if t.held {
		return false
	}
	q := t.account.queue
	now := q.now()
	t.account.Charge(min(now-t.since, Grace))
	t.restart(now)
	return q.Pressed() && !t.take(now)
}

// End ends the turn. It does nothing for one without a slot.
func (t *Turn) End(most time.Duration) {
	if !t.held {
		return
	}
	t.held = false
	q := t.account.queue
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	t.charge(now, most)
	q.release()
}
