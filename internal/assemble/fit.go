package assemble

import (
	"fmt"
	"os"
	"sync"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/tokens"
)

// setWindow sets the size of the window, its fixed content, and how it is filled. Settings that
// the configuration leaves out keep the defaults of the pipeline.
func setWindow(out *pipeline.Config, c *config.Config) (err error) {
	out.MaxTokens, out.SystemPrompts = c.MaxTokens, systemPrompts(c.SystemPrompts)
	if out.Budget, err = BudgetOf(c); err != nil {
		return err
	}
	if _, err = answerTokens(c, out.Budget); err != nil {
		return err
	}
	if c.Fill != "" {
		if out.Fill, err = fill.StrategyByName(c.Fill); err != nil {
			return fmt.Errorf("%w: %w", config.ErrInvalid, err)
		}
	}
	out.IncludeQuery, out.Tools = config.On(c.IncludeQuery), c.Tools.JSON()
	out.Fit, out.Order = fill.Fit(c.Fit), fill.WindowOrder(c.Order)
	out.Truncate = fill.Truncation{At: fill.Cutting(c.Truncate), MinTokens: c.CutMinTokens}
	out.Count = fill.CountOptions{Model: c.Model}
	return nil
}

// maxCalibrated is the maximum number of models whose calibration a generation keeps, because
// callers may name any number of models.
const maxCalibrated = 64

// maxFiles is the maximum number of tokenizers of files that a generation keeps. Each may take
// more than 100 MiB.
const maxFiles = 8

// counters are the tokenizers that reading takes time for, each read once. It has a lock of its own
// because who wants one waits while it is read.
type counters struct {
	mu           sync.Mutex
	calibrations map[calibrated]*tokens.Estimator
	files        map[string]pipeline.Tokenizer // by path
}

// calibrated is a model with the file of its figures.
type calibrated struct{ model, file string }

// fileTokenizer returns the tokenizer of a file, which is read once.
func (g *Generation) fileTokenizer(file string) (pipeline.Tokenizer, error) {
	path := g.Loaded.Path(file)
	g.counters.mu.Lock()
	defer g.counters.mu.Unlock()
	if known := g.counters.files[path]; known != nil {
		return known, nil
	}
	t, err := pipeline.FileTokenizer(path)
	if err != nil {
		return nil, fmt.Errorf("%w: counting.tokenizer.file: %w", config.ErrInvalid, err)
	}
	if g.counters.files == nil {
		g.counters.files = map[string]pipeline.Tokenizer{}
	}
	if len(g.counters.files) < maxFiles {
		g.counters.files[path] = t
	}
	return t, nil
}

// calibrated returns the tokenizer of a model with the figures of a configuration. The figures
// are read once.
func (g *Generation) calibrated(c *config.Config, e *tokens.Estimator) (*tokens.Estimator, error) {
	own := calibrated{c.Model, c.Calibration}
	g.counters.mu.Lock()
	defer g.counters.mu.Unlock()
	if known := g.counters.calibrations[own]; known != nil {
		return known, nil
	}
	if err := g.calibrate(c, e); err != nil {
		return nil, err
	}
	if g.counters.calibrations == nil {
		g.counters.calibrations = map[calibrated]*tokens.Estimator{}
	}
	if len(g.counters.calibrations) < maxCalibrated {
		g.counters.calibrations[own] = e
	}
	return e, nil
}

// calibrate feeds the usage figures of a configuration to an estimator.
func (g *Generation) calibrate(c *config.Config, e *tokens.Estimator) error {
	path := g.Loaded.Path(c.Calibration)
	used, refused, err := observe(e, path, c.Model)
	if err != nil {
		return fmt.Errorf("%w: counting.calibration: %w", config.ErrInvalid, err)
	}
	if used == 0 {
		g.options.Logger.Warn("calibration has no usable figure for the model", "file", path, "model", c.Model, "refused", refused)
	}
	return nil
}

// observe feeds the figures of a file to an estimator of a model.
func observe(e *tokens.Estimator, path, model string) (used, refused int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	used, refused, err = e.Calibration().ObserveLines(f, model)
	if err != nil {
		return used, refused, fmt.Errorf("%s: %w", path, err)
	}
	return used, refused, nil
}
