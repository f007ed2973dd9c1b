// Package openjobs opens the jobs of a configuration, for the service and for commands.
package openjobs

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/server/jobs"
	"github.com/anchor-host/anchor-host/server/jobs/queue"
)

// ending is that of the file of the jobs beside the file of the store.
const ending = ".jobs"

// database returns where the jobs are: in the database of the store, or in a file beside that of the store.
func database(loaded *config.Loaded) (string, error) {
	if path := loaded.StorePath(); storeurl.Is(path) {
		address, _, err := storeurl.Split(path)
		if err != nil {
			return "", fmt.Errorf("jobs: %w: %w", config.ErrInvalid, err)
		}
		return address, nil
	}
	path, err := agentstore.Path(loaded.StorePath())
	if err != nil {
		return "", err
	}
	return path + ending, nil
}

// Open opens the jobs. do does one, and is nil if this process does none: then workers is 0. The caller starts and
// closes the queue.
func Open(ctx context.Context, loaded *config.Loaded, workers int, do *jobs.Worker, log *slog.Logger) (*queue.Queue, error) {
	at, err := database(loaded)
	if err != nil {
		return nil, err
	}
	if !storeurl.Is(at) {
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return nil, fmt.Errorf("jobs: make the folder of the store: %w", err)
		}
	}
	o := queue.Options{Database: at, Workers: workers, Waiting: loaded.Server.WithDefaults().Jobs.Waiting, Logger: log}
	if loaded.Server.Keys == "" {
		o.Running = math.MaxInt32 // there is one tenant, which shares the workers with nobody
	}
	if do != nil {
		o.Do = do.Do
	}
	return queue.Open(ctx, o)
}

// Worker does the jobs of a configuration with an App. around may be nil; see [jobs.Worker].
func Worker(loaded *config.Loaded, app *anchor.App, around jobs.Around) *jobs.Worker {
	w := &jobs.Worker{App: app, Around: around, Folder: loaded.Path(loaded.Server.Jobs.Folder)}
	if path := loaded.StorePath(); !storeurl.Is(path) {
		if file, err := agentstore.Path(path); err == nil {
			w.Temporary = filepath.Dir(file) // it has room for what the store has room for
		}
	}
	return w
}
