package fairness

import (
	"runtime"
	"time"
)

// Turn returns a new turn of the account. It has no slot.
func (a *Account) Turn() Turn { return Turn{account: a, granted: make(chan struct{}, 1)} }

// Enter takes a slot before a turn begins, which is necessary if no slot is free. It waits
// until it gets one, until patience is over, or until done or closed is closed. It reports
// whether the turn has a slot.
func (t *Turn) Enter(patience time.Duration, done, closed <-chan struct{}) bool {
	now := t.account.queue.now()
	t.restart(now)
	return t.take(now) || t.Wait(patience, done, closed)
}

// Begin begins the turn at the time now. A turn that has a slot keeps it.
func (t *Turn) Begin(now time.Duration) {
	t.restart(now)
	t.most = 0
}

// Held reports whether the turn has a slot.
func (t *Turn) Held() bool { return t.held }

// restart starts to measure the work at the time now.
func (t *Turn) restart(now time.Duration) { t.since, t.looked, t.ran, t.paused = now, now, now, false }

// Due reports whether the turn must call Yields at a safe point, at the time now.
func (t *Turn) Due(now time.Duration) bool { return now-t.looked >= Grace && !t.paused }

// Yields takes a slot for a turn that is due and has none, or hands its slot over to an
// account that used less. If it returns true, the turn has no slot and must call Wait next.
// It may let other goroutines run.
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

// settle charges the account for the work until now.
func (t *Turn) settle(now, most time.Duration) {
	q := t.account.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	t.charge(now, most)
}

// charge is settle with the queue's mutex held.
func (t *Turn) charge(now, most time.Duration) {
	t.account.charge(min(now-t.since, most-t.most), now)
	t.since, t.most = now, most
}

// take takes a slot if one is free, and reports whether it did. If not, the turn joins those
// that wait.
func (t *Turn) take(now time.Duration) bool { return t.takeFor(now, t.most) }

// takeFor is take for a turn that has worked already, which it charges first.
func (t *Turn) takeFor(now, most time.Duration) bool {
	q := t.account.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	t.charge(now, most)
	t.held = q.take(t, now)
	return t.held
}

// handsOver gives the slot to another account that used less, if one waits, and reports
// whether it did. The turn then joins those that wait.
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

// Wait waits until the turn gets a slot, until patience is over, or until done or closed is
// closed. It reports whether the turn has a slot. A turn without one has to end.
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

// forget removes a turn from those that wait, and reports whether it was among them. If not,
// the turn has got a slot meanwhile.
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

// Pause charges the account for the work until now, and gives the slot back while the work
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

// Resume ends a pause. Up to [Grace] of the pause counts as work, because a shorter pause was
// hardly a wait, and because an account that pauses all the time must not work for free. If
// Resume returns true, the turn must call Wait next.
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

// End ends the turn: it charges the account and gives the slot back. It does nothing for a
// turn without a slot.
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
