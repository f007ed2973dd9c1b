package main

import (
	"context"

	"github.com/anchor-host/anchor-host/host"
)

// subprocess is the name of a plugin of hashicorp/go-plugin in rows.
const subprocess = "subprocess over gRPC (hashicorp/go-plugin)"

// subprocessRows echo 4 KiB in a plugin and in another process. Most Go programs with plugins
// use other processes.
func (s *suite) subprocessRows() []row {
	const size = 4 << 10
	return []row{{
		name: "grpc/batch", what: "echo 4KiB, stock Go", state: host.StateKeep, lane: laneBatch,
		against: subprocess, target: atLeast(times, 20, 0), needs: needPeers,
		run: func(ctx context.Context) (reading, error) {
			own, err := s.laneSide(ctx, size)
			if err != nil {
				return reading{}, err
			}
			return s.againstSubprocess(ctx, own, size)
		},
	}, {
		name: "grpc/extism", what: "echo 4KiB, stock Go", state: host.StateKeep, lane: laneExtism,
		against: subprocess, target: shown(times), needs: needPeers,
		run: func(ctx context.Context) (reading, error) {
			own, _, err := s.echoSides(ctx, host.StateKeep, size)
			if err != nil {
				return reading{}, err
			}
			return s.againstSubprocess(ctx, own, size)
		},
	}}
}

func (s *suite) againstSubprocess(ctx context.Context, own side, size int) (reading, error) {
	peer, err := s.startSubprocess()
	if err != nil {
		return reading{}, err
	}
	other, err := echoSide(ctx, "subprocess", peer, size)
	if err != nil {
		return reading{}, err
	}
	// The time of each message depends on how fast the system wakes a process, on the same
	// core or on another. It varies more than that of any other side.
	t, err := s.inRounds(ctx, 4*mostRounds, own, other)
	return s.compared(t, "subprocess", err)
}
