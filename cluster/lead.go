package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// lease says which host moves the rollout.
type lease struct {
	// Holder is the host, and Count goes up as long as it holds the lease.
	Holder string `json:"holder"`
	Count  int64  `json:"count"`
	// Ages are the seconds for which the holder has not seen a new beat of each host.
	Ages map[string]int `json:"ages"`
}

// sight is a number that somebody else counts, and when it was first seen as it is.
type sight struct {
	count int64
	since time.Time
}

// watch notes the number and returns for how long it has been the same.
func (w *sight) watch(count int64, now time.Time) time.Duration {
	if w.since.IsZero() || w.count != count {
		*w = sight{count, now}
	}
	return now.Sub(w.since)
}

// leader moves the rollout while it holds the lease.
type leader struct {
	id    string
	now   func() time.Time
	late  time.Duration
	lease sight
	hosts map[string]*sight
	// step is the generation of the rollout.
	step sight
}

// lead takes or keeps the lease, and moves the rollout if it has it.
func (l *leader) lead(ctx context.Context, s store.Store) error {
	members, err := Members(ctx, s)
	if err != nil {
		return err
	}
	ages := l.watch(members)
	var old lease
	was, err := read(ctx, s, leaseID, leaseID, &old)
	if err != nil {
		return err
	}
	age := l.lease.watch(old.Count, l.now())
	if was != nil && old.Holder != l.id && age < l.late {
		return nil
	}
	mine := lease{Holder: l.id, Count: old.Count + 1, Ages: map[string]int{}}
	for id, age := range ages {
		mine.Ages[id] = int(age.Seconds())
	}
	set, err := replacing(leaseID, leaseID, was, mine)
	if err != nil {
		return err
	}
	if err := s.Apply(ctx, set); err != nil {
		if errors.Is(err, store.ErrConflict) {
			return nil // somebody else has it
		}
		return fmt.Errorf("cluster: take the lease: %w", err)
	}
	if err := l.forget(ctx, s, ages); err != nil {
		return err
	}
	return l.move(ctx, s, members, ages)
}

// watch returns for how long the hosts have had no new beat.
func (l *leader) watch(members []Member) map[string]time.Duration {
	ages, now := map[string]time.Duration{}, l.now()
	for i := range members {
		m := &members[i]
		w := l.hosts[m.ID]
		if w == nil {
			w = &sight{}
			l.hosts[m.ID] = w
		}
		ages[m.ID] = w.watch(m.Beats, now)
	}
	for id := range l.hosts {
		if _, ok := ages[id]; !ok {
			delete(l.hosts, id)
		}
	}
	return ages
}

// forgotten is how long a host is listed without a beat, in times of what makes it late.
const forgotten = 240

// forget deletes the records of hosts that are long gone.
func (l *leader) forget(ctx context.Context, s store.Store, ages map[string]time.Duration) error {
	for id, age := range ages {
		if age > forgotten*l.late {
			if _, err := s.Delete(ctx, key("host"), id); err != nil {
				return fmt.Errorf("cluster: forget a host: %w", err)
			}
		}
	}
	return nil
}

// move moves the rollout.
func (l *leader) move(ctx context.Context, s store.Store, members []Member, ages map[string]time.Duration) error {
	d, was, err := readDesired(ctx, s)
	if err != nil || d == nil || d.Candidate == nil {
		return err
	}
	since := l.step.watch(d.Generation, l.now()) // every change of the rollout begins the step anew
	next := decide(d, members, func(m *Member) bool { return ages[m.ID] < l.late }, since)
	if next == nil {
		return nil
	}
	next.Generation, next.Who, next.Time = d.Generation+1, l.id, time.Now().UTC()
	return l.write(ctx, s, was, next)
}

func (l *leader) write(ctx context.Context, s store.Store, was json.RawMessage, next *Desired) error {
	set, err := replacing(desiredID, desiredID, was, next)
	if err != nil {
		return err
	}
	if err := s.Apply(ctx, set); err != nil && !errors.Is(err, store.ErrConflict) { // with a conflict somebody else was first
		return fmt.Errorf("cluster: move the rollout: %w", err)
	}
	return nil
}

// Sum returns the counts of all hosts for the rollout that is under way, also of those that are gone.
func Sum(d *Desired, members []Member) *Pair {
	var p Pair
	for i := range members {
		if m := &members[i]; m.Rollout == d.Rollout {
			p.Stable.plus(&m.Counts.Stable)
			p.Candidate.plus(&m.Counts.Candidate)
		}
	}
	return &p
}

// decide returns the next state of a rollout, nil if it stays as it is. since is for how long the step has
// been as it is.
func decide(d *Desired, members []Member, live func(*Member) bool, since time.Duration) *Desired {
	next := *d
	ready, hosts := true, 0
	for i := range members {
		m := &members[i]
		if !live(m) {
			continue
		}
		hosts++
		if m.Failed >= d.Rollout && m.Error != "" && m.Rollout == d.Rollout {
			next.settle(Reverted)
			next.Why = fmt.Sprintf("host %s cannot load the candidate: %s", m.ID, m.Error)
			return &next
		}
		ready = ready && m.Candidate != nil && *m.Candidate == *d.Candidate
	}
	numbers := Judge(Sum(d, members), d.Bounds)
	next.Numbers = numbers
	switch {
	case len(numbers.Beyond) > 0:
		next.settle(Reverted)
		next.Why = numbers.Beyond[0].Measure + ": " + numbers.Beyond[0].Text
		return &next
	case d.Phase != Running || hosts == 0 || !ready:
		return nil
	case d.Step == 0:
		next.Why = "all hosts have loaded the candidate"
	case d.Every == 0 || since < d.Every || numbers.Candidate.Builds < d.Bounds.Least:
		return nil
	default:
		next.Why = fmt.Sprintf("within the bounds after %d builds of the candidate", numbers.Candidate.Builds)
	}
	if Next(&next) != nil {
		return nil
	}
	return &next
}
