package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/store"
)

// HostState says how a host does.
type HostState string

// The states of hosts.
const (
	// Current: it does the newest generation.
	Current HostState = "current"
	// Behind: it has not yet done the newest generation.
	Behind HostState = "behind"
	// Failing: it cannot do the newest generation. [Member.Error] says why.
	Failing HostState = "failing"
	// Late: nothing was heard of it for 16 seconds. It ended, or cannot reach the store.
	Late HostState = "late"
)

// HostStatus is a host as others see it.
type HostStatus struct {
	// ID, Build and Generation are as in [Member].
	ID         string `json:"id"`
	Build      string `json:"build"`
	Generation int64  `json:"generation"`
	// State says how it does, and Error why it fails.
	State HostState `json:"state"`
	Error string    `json:"error,omitempty"`
	// Silent are the seconds for which the leader has heard nothing of it.
	Silent int `json:"silent_seconds"`
	// Stable and Candidate are the short names of the versions that it serves, see [Version.Short]. Empty: its
	// own file, and no candidate.
	Stable    string `json:"stable"`
	Candidate string `json:"candidate,omitempty"`
	// Builds are those that it has counted in this rollout, of both versions.
	Builds int64 `json:"builds"`
	// Shadows compare the second versions of steps with the first ones, on this host.
	Shadows []shadows.Comparison `json:"shadows,omitempty"`
}

// Status is what is known of a cluster.
type Status struct {
	// Desired is what hosts follow. nil: nothing yet.
	Desired *Desired `json:"desired"`
	// Stable and Candidate are the short names of the versions, and Share the share of the candidate in
	// percent.
	Stable    string `json:"stable"`
	Candidate string `json:"candidate,omitempty"`
	Share     int    `json:"share"`
	// Waits says what the rollout waits for. Empty: for nothing.
	Waits string `json:"waits,omitempty"`
	// Numbers compare the versions as of now. nil: there is no candidate.
	Numbers *Numbers `json:"numbers,omitempty"`
	// Leader is the host that moves the rollout. Empty: none does.
	Leader string `json:"leader"`
	// Hosts are the hosts, by ID.
	Hosts []HostStatus `json:"hosts"`
	// Versions is the number of hosts that are not late by the short name of their stable version. More than
	// one entry: the hosts are split.
	Versions map[string]int `json:"versions"`
}

// watchEvery is how often the lease is looked at until it changes.
const watchEvery = 100 * time.Millisecond

// ReadStatus reads what is known of a cluster. It looks at the lease for up to watch to see whether a host
// leads; 0 believes what the store says.
func ReadStatus(ctx context.Context, s store.Store, watch time.Duration) (*Status, error) {
	var l lease
	if _, err := read(ctx, s, leaseID, leaseID, &l); err != nil {
		return nil, err
	}
	led := watch == 0 && l.Holder != ""
	for end := time.Now().Add(watch); !led && l.Holder != "" && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(watchEvery):
		}
		count := l.Count
		if _, err := read(ctx, s, leaseID, leaseID, &l); err != nil {
			return nil, err
		}
		led = l.Count != count
	}
	d, err := Read(ctx, s)
	if err != nil {
		return nil, err
	}
	members, err := Members(ctx, s)
	if err != nil {
		return nil, err
	}
	st := &Status{Desired: d, Hosts: []HostStatus{}, Versions: map[string]int{}}
	if led {
		st.Leader = l.Holder
	}
	for i := range members {
		h := statusOf(&members[i], d, &l, led)
		st.Hosts = append(st.Hosts, h)
		if h.State != Late {
			st.Versions[h.Stable]++
		}
	}
	if d != nil {
		st.describe(d, members)
	}
	return st, nil
}

// lateSeconds is when a host is late, with the default poll.
var lateSeconds = int((lateAfter * DefaultPoll).Seconds())

func statusOf(m *Member, d *Desired, l *lease, led bool) HostStatus {
	h := HostStatus{
		ID: m.ID, Build: m.Build, Generation: m.Generation, State: Current, Stable: m.Stable.Short(), Silent: l.Ages[m.ID],
		Builds: m.Counts.Stable.Builds + m.Counts.Candidate.Builds, Shadows: m.Shadows,
	}
	if m.Candidate != nil {
		h.Candidate = m.Candidate.Short()
	}
	switch {
	case !led || h.Silent >= lateSeconds:
		h.State = Late
	case d == nil || m.Generation >= d.Generation:
	case m.Error != "" && m.Failed == d.Generation:
		h.State, h.Error = Failing, m.Error
	default:
		h.State = Behind
	}
	return h
}

// describe adds what the rollout does.
func (st *Status) describe(d *Desired, members []Member) {
	st.Stable, st.Share = d.Stable.Short(), d.Share()
	if d.Candidate == nil {
		return
	}
	st.Candidate, st.Numbers = d.Candidate.Short(), Judge(Sum(d, members), d.Bounds)
	behind := 0
	for i := range st.Hosts {
		if h := &st.Hosts[i]; h.State != Late && h.Candidate != st.Candidate {
			behind++
		}
	}
	switch lacks := d.Bounds.withDefaults().Least - st.Numbers.Candidate.Builds; {
	case d.Phase == Paused:
		st.Waits = "somebody who resumes it"
	case st.Leader == "":
		st.Waits = "a host that leads"
	case behind > 0:
		st.Waits = fmt.Sprintf("hosts that have not loaded the candidate: %d", behind)
	case lacks > 0:
		st.Waits = fmt.Sprintf("builds of the candidate: %d more", lacks)
	case d.Every == 0:
		st.Waits = "somebody who begins the next step"
	default:
		st.Waits = fmt.Sprintf("the end of the step, %s after its begin", d.Every)
	}
}
