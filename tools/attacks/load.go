package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/pipeline"
)

// newHost makes a host with all defaults, except that it keeps nothing on disk.
func newHost(ctx context.Context, functions ...host.Function) (*host.Host, error) {
	return host.New(host.Config{CacheDir: host.CacheOff, Tokenizer: pipeline.WordTokenizer(), Functions: functions})
}

// refusal records the error of the host for a module.
func (o *outcome) refusal(err error) {
	if err != nil {
		o.Error = err.Error()
		o.Refused = errors.Is(err, host.ErrTooLarge) || errors.Is(err, host.ErrNotWasm)
	}
}

// fixture reads a plugin of testdata/wasm.
func fixture(root, name string) (*spec.Spec, error) {
	return spec.ReadFile(root + "/testdata/wasm/" + name + "/plugin.wasm")
}

// loadBomb loads a module, however long it takes.
func loadBomb(ctx context.Context, j job) (o outcome, err error) {
	b, _ := find(j.Bomb)
	wasm := b.build(j.N)
	h, err := newHost(ctx)
	if err != nil {
		return o, err
	}
	settle()
	began := time.Now()
	spec, err := spec.Read("bomb", wasm, nil)
	if err == nil {
		_, err = h.Load(ctx, spec, host.PluginConfig{Engine: b.engine})
	}
	o.Took = time.Since(began)
	o.refusal(err)
	return o, nil
}

// loadBombInTime loads a module with a deadline, and another module a little later.
func loadBombInTime(ctx context.Context, j job) (o outcome, err error) {
	b, _ := find(j.Bomb)
	wasm := b.build(j.N)
	h, err := newHost(ctx)
	if err != nil {
		return o, err
	}
	good, err := fixture(j.Root, "one-page")
	if err != nil {
		return o, err
	}
	settle()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		if _, err := h.Load(ctx, good, host.PluginConfig{}); err != nil {
			o.Error = "the bystander: " + err.Error()
		}
		o.Other = time.Since(began)
	})
	spec, err := spec.Read("bomb", wasm, nil)
	began := time.Now()
	if err == nil {
		limited, cancel := context.WithTimeout(ctx, j.Deadline)
		defer cancel()
		_, err = h.Load(limited, spec, host.PluginConfig{Engine: b.engine})
	}
	o.Took = time.Since(began)
	wg.Wait()
	if o.Error == "" {
		o.refusal(err)
	}
	return o, nil
}

// callBomb loads a module and calls it from four goroutines, each with a deadline.
func callBomb(ctx context.Context, j job) (o outcome, err error) {
	b, _ := find(j.Bomb)
	wasm := b.build(j.N)
	h, err := newHost(ctx)
	if err != nil {
		return o, err
	}
	settle()
	spec, err := spec.Read("bomb", wasm, nil)
	var p *host.Plugin
	if err == nil {
		p, err = h.Load(ctx, spec, host.PluginConfig{Engine: b.engine, Limits: host.Limits{Instances: 4, Timeout: j.Deadline}})
	}
	if err != nil {
		o.refusal(err)
		return o, nil
	}
	var mu sync.Mutex
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			began := time.Now()
			_, err := p.Call(ctx, "run", nil)
			mu.Lock()
			defer mu.Unlock()
			o.Took = max(o.Took, time.Since(began))
			o.Error = fmt.Sprint(err)
		})
	}
	calls.Wait()
	return o, nil
}
