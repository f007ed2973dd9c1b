package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imagestore"
	"github.com/anchor-host/anchor-host/host/internal/mounts"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
)

// CheckFolders returns an error for each folder that cannot be opened, which wraps ErrFolder.
func (g Grants) CheckFolders() (errs []error) {
	for i, f := range g.Files {
		if f.FS != nil {
			continue
		}
		if err := mounts.CheckFolder(fmt.Sprintf("grants.files[%d]", i), f.Host); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// openMounts opens the folders of the grants. They are closed with the plugin.
func (p *Plugin) openMounts(ctx context.Context) error {
	if features := p.setup.host.cfg.featuresOf(p.setup.host.engineKind(p.setup.cfg.Engine)); !features.On(wazerox.Mounts) && len(p.setup.granted.files) > 0 {
		return errors.New("grants.files: this host cannot mount directories (its feature mounts is off, see doctor)")
	}
	return p.lending.mounts.Open(ctx, p.setup.mountGrants(), mounts.Options{Folders: &p.setup.host.folders, Budget: p.files,
		Try: func(f func() error) error { return p.tryFS(ctx, f) }})
}

// mountGrants are the granted folders as package mounts takes them.
func (set *setup) mountGrants() []mounts.Grant {
	var grants []mounts.Grant
	for _, g := range set.granted.files {
		at := slices.IndexFunc(set.cfg.Grants.Files, func(c FileGrant) bool { return c.Host == g.Host && c.Guest == g.Guest })
		grants = append(grants, mounts.Grant{
			Key: fmt.Sprintf("grants.files[%d]", at), Guest: cleanGuest(g.Guest), Host: g.Host, FS: g.FS, Writable: g.Mode == ModeRW,
			Quota:    numberOf(cmp.Or(g.Quota, DefaultFolderQuota), math.MaxInt64),
			MaxFiles: numberOf(int64(cmp.Or(g.MaxFiles, DefaultFolderFiles)), math.MaxInt64),
		})
	}
	return grants
}

// tryFS runs f, which calls a file system of the embedder, within the time of init.
func (p *Plugin) tryFS(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, p.setup.limits.InitTimeout)
	defer cancel()
	_, err := guard.Run(ctx, p.guard, guest.MountName, func(context.Context) (struct{}, error) { return struct{}{}, f() }, nil)
	return err
}

// checkFolders is the fault of a plugin whose guests would see another folder than its
// operator does.
func (l *lending) checkFolders() error {
	if err := l.mounts.Check(); err != nil {
		return &guest.Fault{Reason: abi.ReasonDenied, Err: err, Remedy: "load the plugin again, or bring the folder back"}
	}
	return nil
}

// wasiOptions say what the guests of the plugin see through WASI.
func (p *Plugin) wasiOptions() wasi.Options {
	o := wasi.Options{OutputBytes: int(p.setup.limits.LogBytes), Mounts: &p.lending.mounts, Deterministic: p.setup.cfg.Deterministic, Random: randomSource}
	if m := p.setup.spec.Manifest; m != nil {
		o.Timeless = m.Operations[abi.OpInit].Timeless
	}
	if imagestore.Boot() == "" {
		o.Uptime = guest.Clock
	}
	return o
}

// opensFiles reports whether a module imports a function that changes file descriptors.
func opensFiles(s *spec.Spec) bool {
	return slices.ContainsFunc(s.Module().Imports, func(im wasmbin.Import) bool {
		return im.Module == wasi.Module && wasi.ChangesDescriptors(im.Name)
	})
}
