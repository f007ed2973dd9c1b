package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// roleVariable makes this program, when it starts itself, something other than the suite: a
// plugin of a peer, or a process in which only one thing is measured.
const (
	roleVariable = "ANCHOR_ENGINE_ROLE"
	jobVariable  = "ANCHOR_ENGINE_JOB"
	roleGRPC     = "grpc"
)

// job is the task of a child process.
type job struct {
	Root  string `json:"root"`
	Count int    `json:"count"`
	Base  int    `json:"base"`
}

// memoryUse is the report of a child process: the bytes of its memory before and after.
type memoryUse struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
	// Heap is the part of the difference that belongs to Go's heap and stacks.
	Heap int64 `json:"heap,omitempty"`
	// Held is the growth of residence.held.
	Held int64 `json:"held,omitempty"`
}

// jobs are the roles of child processes.
var jobs = map[string]func(context.Context, job) (memoryUse, error){
	"calls":     manyCalls,
	"loads":     manyLoads,
	"instances": manyInstances,
}

// serveRole runs the role in the environment, if there is one.
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

// child runs a job in its own process, whose memory is used for nothing else.
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
