package main

import "fmt"

// verdict compares a figure with its target.
type verdict struct {
	What   string  `json:"what"`
	Figure float64 `json:"figure"`
	Target float64 `json:"target"`
	// Most: the figure may be at most the target. Otherwise it must be at least the target.
	Most bool `json:"most"`
	Met  bool `json:"met"`
}

func (v verdict) String() string {
	met, bound := "missed", "least"
	if v.Met {
		met = "met   "
	}
	if v.Most {
		bound = "most"
	}
	return fmt.Sprintf("%s  %s: %.4g (at %s %.4g)", met, v.What, v.Figure, bound, v.Target)
}

func (r *report) least(what string, figure, target float64) {
	r.Targets = append(r.Targets, verdict{what, figure, target, false, figure >= target})
}

func (r *report) most(what string, figure, target float64) {
	r.Targets = append(r.Targets, verdict{what, figure, target, true, figure <= target})
}

func (r *report) missed() (n int) {
	for _, v := range r.Targets {
		if !v.Met {
			n++
		}
	}
	return n
}

// behind is by how much the best peer may be better.
const behind = 1.2

// judge compares the figures with their targets. Cranfield is too small for its times to mean anything.
func (r *report) judge() {
	for i := range r.Sets {
		s := &r.Sets[i]
		switch s.Set {
		case setFiles:
			r.files(s)
		case setSmall, setLarge:
			r.speed(s)
		default:
			r.quality(s)
		}
		if s.Set != setFiles && s.Set != setCranfield {
			r.beside(s, oursWords, peerBleve, peerFTS5)
			r.beside(s, oursVector, peerChrome)
		}
	}
}

// quality compares the best of ours with the best peer.
func (r *report) quality(s *result) {
	ours, peers := 0.0, 0.0
	for _, row := range s.Rows {
		if e, err := engineOf(row.Engine); err == nil && e.ours {
			ours = max(ours, row.NDCG)
		} else {
			peers = max(peers, row.NDCG)
		}
	}
	r.least(s.Set+": nDCG@10, the best peer", ours, peers)
}

// beside compares ingestion and queries with the best of some peers, by the time of the processor.
func (r *report) beside(s *result, ours string, peers ...string) {
	mine := s.row(ours)
	if mine == nil {
		return
	}
	ingest, query := 0.0, 0.0
	for _, name := range peers {
		if peer := s.row(name); peer != nil {
			ingest = max(ingest, peer.Ingest)
			if query == 0 || peer.CPU < query {
				query = peer.CPU
			}
		}
	}
	if query == 0 {
		return
	}
	if ours == oursWords { // an ingestion without an index of words is not comparable
		r.least(s.Set+": "+ours+": ingestion in MB/cpu-s, the best peer / 1.2", mine.Ingest, ingest/behind)
	}
	r.most(s.Set+": "+ours+": cpu ms of a query, the best peer * 1.2", mine.CPU, query*behind)
}

// speed compares queries with the targets for made-up chunks.
func (r *report) speed(s *result) {
	most := 1.5
	if s.Set == setLarge {
		most = 20
	}
	if row := s.row(oursHybrid); row != nil {
		r.most(s.Set+": hybrid query, p50 in ms", row.P50, most)
	}
}

// files compares the ingestion of files with its targets.
func (r *report) files(s *result) {
	if row := s.row(oursWords); row != nil {
		r.least(s.Set+": "+oursWords+": MB/cpu-s", row.Ingest, 20)
	}
	if row := s.row(oursHybrid); row != nil {
		r.least(s.Set+": "+oursHybrid+": MB/cpu-s", row.Ingest, 10)
	}
}
