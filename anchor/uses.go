package anchor

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// usesDelay is how long uses of facts wait to be written together. A crash loses them.
	usesDelay = 5 * time.Second
	// maxUses bounds the facts whose uses wait. Uses of others are not counted meanwhile.
	maxUses = 10_000
	// usesWrite is the number of facts in one write.
	usesWrite = 500
)

// uses are the uses of facts by windows that wait to be written.
type uses struct {
	mu      sync.Mutex
	waiting map[string]map[string]memory.Use // by tenant and ID
	n       int                              // facts in waiting
	timer   *time.Timer                      // nil if nothing waits

	writing sync.Mutex // held while uses are written
	log     *slog.Logger
}

// note notes the facts of a window, and writes them later. Items that the request gives are no facts,
// whatever they say: they could be those of another user.
func (u *uses) note(s store.Store, tenant string, items, given []pipeline.Item, now time.Time) {
	isGiven := make(map[string]bool)
	for i := range given {
		if given[i].Source == pipeline.SourceMemory {
			isGiven[given[i].ID] = true
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range items {
		id, _ := items[i].Metadata["memory_entry_id"].(string)
		if items[i].Source != pipeline.SourceMemory || id == "" || strings.TrimPrefix(items[i].ID, "fact-") != id || isGiven[items[i].ID] {
			continue
		}
		use, known := u.waiting[tenant][id]
		if !known {
			if u.n == maxUses {
				continue
			}
			u.n++
		}
		if u.waiting == nil {
			u.waiting = make(map[string]map[string]memory.Use)
		}
		if u.waiting[tenant] == nil {
			u.waiting[tenant] = make(map[string]memory.Use)
		}
		u.waiting[tenant][id] = memory.Use{Times: use.Times + 1, Last: now}
	}
	if u.n > 0 && u.timer == nil {
		u.timer = time.AfterFunc(usesDelay, func() { u.flush(context.Background(), s) })
	}
}

// flush writes the uses that wait. Uses that cannot be written are lost, and a log line says so.
func (u *uses) flush(ctx context.Context, s store.Store) {
	u.writing.Lock()
	defer u.writing.Unlock()
	u.mu.Lock()
	waiting := u.waiting
	u.waiting, u.n = nil, 0
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
	u.mu.Unlock()
	for tenant, list := range waiting {
		err := writeUses(ctx, s, tenant, list)
		if err != nil && !errors.Is(err, store.ErrReadOnly) { // who may not write need not count
			u.log.Warn("uses of facts are not counted", "tenant", tenant, "facts", len(list), "error", err)
		}
	}
}

func writeUses(ctx context.Context, s store.Store, tenant string, list map[string]memory.Use) error {
	m, err := memory.New(memory.Config{Facts: memory.NewStoreFacts(s, tenant)})
	if err != nil {
		return err
	}
	part := make(map[string]memory.Use, min(len(list), usesWrite))
	for id, use := range list {
		part[id] = use
		if len(part) == usesWrite {
			err = errors.Join(err, m.Used(ctx, part))
			clear(part)
		}
	}
	return errors.Join(err, m.Used(ctx, part))
}
