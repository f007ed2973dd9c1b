package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// roleVariable has this program, started by itself, be something else than the suite:
// a plugin of a peer, or a process of which nothing but one thing is measured.
const (
	roleVariable = "ANCHOR_ENGINE_ROLE"
	jobVariable  = "ANCHOR_ENGINE_JOB"
	roleGRPC     = "grpc"
)

// job is what a child process is to do.
type job struct {
	Root  string `json:"root"`
	Count int    `json:"count"`
	Base  int    `json:"base"`
}

// memoryUse is what a child reports: the bytes its memory took before and after.
type memoryUse struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
	// Heap is how much of the difference is Go's own.
	Heap int64 `json:"heap,omitempty"`
	// Held is how much more the process holds after than before.
	Held int64 `json:"held,omitempty"`
}

// jobs are the roles of child processes.
var jobs = map[string]func(context.Context, job) (memoryUse, error){
	"calls":     manyCalls,
	"loads":     manyLoads,
	"instances": manyInstances,
}

// serveRole does what the environment asks for, if it does.
func serveRole(ctx context.Context) (handled bool, status int) {
	role := os.Getenv(roleVariable)
	if role == "" {
		return false, 0
	}
	if role == roleGRPC {
		serveGRPC()
		return true, 0
	}
	do, ok := jobs[role]
	if !ok {
		fmt.Fprintf(os.Stderr, "engine: no role %q\n", role)
		return true, 2
	}
	var j job
	err := json.Unmarshal([]byte(os.Getenv(jobVariable)), &j)
	if err == nil {
		var use memoryUse
		if use, err = do(ctx, j); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(use)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
		return true, 1
	}
	return true, 0
}

// child runs a job in a process of its own, whose memory holds nothing else.
func (s *suite) child(ctx context.Context, role string, j job) (memoryUse, error) {
	self, err := os.Executable()
	if err != nil {
		return memoryUse{}, err
	}
	j.Root = s.opts.root
	data, err := json.Marshal(j)
	if err != nil {
		return memoryUse{}, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, jobVariable+"="+string(data))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return memoryUse{}, fmt.Errorf("%s: %w: %s", role, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var use memoryUse
	return use, json.Unmarshal(out, &use)
}
