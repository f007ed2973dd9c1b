package sharing

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// ErrOwned marks a write to a collection that belongs to another tenant. Trying again does not help.
var ErrOwned = errors.New("it belongs to another tenant, who shares it for reading")

// Index returns an index in which the name of a shared collection means that of its owner, for each tenant
// that may read it. Writes of such a tenant are [ErrOwned].
//
// A collection of the same name that such a tenant has itself is never read. Only Remove reaches it. found,
// which may be nil, is told of it.
func Index(real retrieve.Index, c *config.Config, found *Hidden) retrieve.Index {
	for name := range c.Collections {
		if len(c.Collections[name].Shared) > 0 {
			return index{real, c, found}
		}
	}
	return real
}

// Hidden finds the collections that shared ones of the same name hide. It is safe for concurrent use.
type Hidden struct {
	// Tell is told of each such collection when its tenant first reads the shared one.
	Tell func(own retrieve.Collection)

	looked sync.Map // by collection
}

// look looks once whether a tenant has a collection of its own.
func (h *Hidden) look(ctx context.Context, real retrieve.Index, own retrieve.Collection) {
	if h == nil {
		return
	}
	if _, looked := h.looked.LoadOrStore(own, true); looked {
		return
	}
	if _, err := real.Settings(ctx, own); err == nil {
		h.Tell(own)
	}
}

type index struct {
	retrieve.Index
	config *config.Config
	hidden *Hidden
}

// of returns the collection that a name means to a tenant.
func (x index) of(asked retrieve.Collection) retrieve.Collection {
	asked.Tenant = x.config.OwnerOf(asked.Tenant, asked.Name)
	return asked
}

// read returns the collection that a read of a tenant means, and tells of one that is hidden by it.
func (x index) read(ctx context.Context, asked retrieve.Collection) retrieve.Collection {
	meant := x.of(asked)
	if meant != asked {
		x.hidden.look(ctx, x.Index, asked)
	}
	return meant
}

func (x index) written(asked retrieve.Collection) error { return Writable(x.config, asked) }

// Writable returns [ErrOwned] if a collection belongs to another tenant than that which asks.
func Writable(c *config.Config, asked retrieve.Collection) error {
	if c.OwnerOf(asked.Tenant, asked.Name) == asked.Tenant {
		return nil
	}
	return fmt.Errorf("collection %s: %w (write to it as its owner, or use another name)", asked.Name, ErrOwned)
}

// told is an error that does not name the owner.
type told struct {
	text string
	err  error
}

func (e *told) Error() string { return e.text }

// Unwrap returns the error with the name of the owner.
func (e *told) Unwrap() error { return e.err }

// answer is an error as the tenant that asked sees it.
func answer(err error, asked, meant retrieve.Collection) error {
	if err == nil || asked == meant {
		return err
	}
	return &told{strings.ReplaceAll(err.Error(), meant.String(), asked.String()), err}
}

func (x index) Create(ctx context.Context, c retrieve.Collection, s retrieve.Settings) error {
	if err := x.written(c); err != nil {
		return err
	}
	return x.Index.Create(ctx, c, s)
}

// Collections implements [retrieve.Index]. It lists shared collections as what the tenant reads by their
// names.
func (x index) Collections(ctx context.Context, tenant string) ([]retrieve.CollectionInfo, error) {
	list, err := x.Index.Collections(ctx, tenant)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(i retrieve.CollectionInfo) bool { return x.config.OwnerOf(tenant, i.Name) != tenant })
	for name := range x.config.Collections {
		c := retrieve.Collection{Tenant: tenant, Name: name}
		if x.of(c) == c {
			continue
		}
		info, err := x.Collection(ctx, c)
		if errors.Is(err, retrieve.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b retrieve.CollectionInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (x index) Collection(ctx context.Context, c retrieve.Collection) (retrieve.CollectionInfo, error) {
	meant := x.read(ctx, c)
	info, err := x.Index.Collection(ctx, meant)
	if err != nil {
		return info, answer(err, c, meant)
	}
	info.Collection, info.Shared = c, meant != c
	return info, nil
}

func (x index) Settings(ctx context.Context, c retrieve.Collection) (retrieve.Settings, error) {
	meant := x.read(ctx, c)
	s, err := x.Index.Settings(ctx, meant)
	return s, answer(err, c, meant)
}

// Remove implements [retrieve.Index]. It never removes a collection of another tenant.
func (x index) Remove(ctx context.Context, c retrieve.Collection) error {
	err := x.Index.Remove(ctx, c)
	if errors.Is(err, retrieve.ErrNotFound) {
		if owned := x.written(c); owned != nil {
			return owned
		}
	}
	return err
}

func (x index) SetModel(ctx context.Context, c retrieve.Collection, m retrieve.Model) error {
	if err := x.written(c); err != nil {
		return err
	}
	return x.Index.SetModel(ctx, c, m)
}

func (x index) Upsert(ctx context.Context, c retrieve.Collection, docs ...retrieve.Document) error {
	if err := x.written(c); err != nil {
		return err
	}
	return x.Index.Upsert(ctx, c, docs...)
}

func (x index) Delete(ctx context.Context, c retrieve.Collection, ids ...string) (int, error) {
	if err := x.written(c); err != nil {
		return 0, err
	}
	return x.Index.Delete(ctx, c, ids...)
}

func (x index) Documents(ctx context.Context, c retrieve.Collection, ids retrieve.IDs) iter.Seq2[retrieve.DocumentInfo, error] {
	meant := x.read(ctx, c)
	return each(x.Index.Documents(ctx, meant, ids), c, meant)
}

func (x index) SetRoot(ctx context.Context, c retrieve.Collection, from, to string) error {
	if err := x.written(c); err != nil {
		return err
	}
	return x.Index.SetRoot(ctx, c, from, to)
}

func (x index) Document(ctx context.Context, c retrieve.Collection, id string) (retrieve.Document, error) {
	meant := x.read(ctx, c)
	d, err := x.Index.Document(ctx, meant, id)
	return d, answer(err, c, meant)
}

func (x index) Export(ctx context.Context, c retrieve.Collection) iter.Seq2[retrieve.Document, error] {
	meant := x.read(ctx, c)
	return each(x.Index.Export(ctx, meant), c, meant)
}

func (x index) Compact(ctx context.Context, c retrieve.Collection) error {
	if err := x.written(c); err != nil {
		return err
	}
	return x.Index.Compact(ctx, c)
}

func (x index) Search(ctx context.Context, c retrieve.Collection, q retrieve.Query) ([]retrieve.Hit, error) {
	meant := x.read(ctx, c)
	hits, err := x.Index.Search(ctx, meant, q)
	return hits, answer(err, c, meant)
}

// each is a list whose error the tenant that asked may see.
func each[T any](list iter.Seq2[T, error], asked, meant retrieve.Collection) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range list {
			if !yield(v, answer(err, asked, meant)) {
				return
			}
		}
	}
}
