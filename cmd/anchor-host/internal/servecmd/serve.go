// Package servecmd is the command serve: package server with flags and signals.
package servecmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/following"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/parts"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/startup"
	"github.com/anchor-host/anchor-host/internal/agents/mcpserver"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/console"
	"github.com/anchor-host/anchor-host/telemetry"
)

// Command returns the command.
func Command(a *cli.App) *cobra.Command {
	var logFormat string
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Answer build requests over HTTP",
		Long: `Load the configuration and its plugins once, and answer requests over HTTP until SIGTERM
or an interrupt. GET /openapi.json describes the API; POST /v1/builds takes what "build
--request" takes. The second listener has health, metrics, reload and the console. Without
keys both are open to programs of this computer only, so other addresses are refused.

The configuration is loaded again when its file, anchor.lock, the prices or a plugin
changes, and on SIGHUP. A broken change leaves everything as it is. At the end running
requests finish first; a second signal cuts them (docs/operate-service.md). With --follow
configuration and keys come from the store, for all hosts (docs/rollout.md).`,
		Example: `  anchor-host serve --config anchor.yaml
  anchor-host serve --config anchor.yaml --follow
  curl localhost:8790/v1/builds -H 'content-type: application/json' -d '{"query": "hi"}'
  curl localhost:8791/metrics
  curl -X POST localhost:8791/admin/v1/reload`,
		Args: cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	cli.StoreFileFlag(cmd)
	cmd.Flags().String("tenant", "", "tenant of requests without a key")
	cmd.Flags().Bool("follow", false, "take the configuration and the keys from the store (server.follow)")
	cmd.Flags().String("listen", "", "address of the API (default: 127.0.0.1:8790)")
	cmd.Flags().String("admin-listen", "", "address of health, reload and profiles; none for no such listener (default: 127.0.0.1:8791)")
	cmd.Flags().StringVar(&logFormat, "log-format", "text", "form of log lines on stderr: text or json")
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error {
		if logFormat != "text" && logFormat != "json" {
			return cli.Usagef(cmd, "flag --log-format: want text or json, got %q", logFormat)
		}
		loaded, err := a.Load(cmd)
		if err != nil {
			return err
		}
		if err := loaded.Absolute(); err != nil {
			return err
		}
		log := logger(a.Err, logFormat, &loaded.Config)
		return serve(observe.Noting(cmd.Context(), func(line string) { log.Warn(line) }), a, loaded, log)
	})
	return cmd
}

// logger returns the logger of the service, which logs from info on unless the configuration says
// otherwise.
func logger(w io.Writer, format string, c *config.Config) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.Telemetry.LogLevel != "" {
		o.Level = cli.LogLevel(c)
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// serve serves until a signal ends it.
func serve(ctx context.Context, a *cli.App, loaded *config.Loaded, log *slog.Logger) error {
	follow, loaded, err := following.Begin(ctx, loaded, log)
	if err != nil {
		return err
	}
	defer follow.Close(ctx)
	ready, err := startup.Read(ctx, loaded, log)
	if err != nil {
		ready.Close(ctx)
		return err
	}
	defer ready.Close(ctx)
	t := ready.Telemetry
	log.Info("loading the plugins; the first start compiles each of them, which takes some seconds", "configuration", loaded.File)
	name, _ := os.Hostname() // without a name its failures name no host
	failed := &failures.Log{Host: name}
	app, err := anchor.Open(ctx, loaded, anchor.Options{Logger: log, StrictReload: true, OnFailure: failed.Add, Components: parts.Components(loaded)})
	if err != nil {
		return err
	}
	defer closeApp(app, log)
	failed.Keep(app.Store, log)
	defer failed.Close(context.WithoutCancel(ctx)) // before the App, which closes the store
	if err := t.Watch(app); err != nil {
		return err
	}
	options := ready.Options
	activity := &console.Activity{}
	options.Observers, options.Logged = append(options.Observers, observer(t, telemetry.NewRequestLog(log)), activity.Observer()), true
	options.Failures = failed
	options.Version, options.TenantClass = cli.ReadBuildInfo().Version, t.Class
	follow.Options(&options)
	options.OnListen = func(data, admin net.Addr) {
		a.Say("%s", addresses(data, admin, options.TLS.Cert != ""))
		tell(log, stateReady)
	}
	end, err := control(&options, ready.Keys, loaded, app)
	if err != nil {
		return err
	}
	defer end()
	if ready.Keys != nil {
		if err := t.WatchKeys(ready.Keys.Problem); err != nil {
			return err
		}
	}
	work, err := openWork(ctx, loaded, app, &options, t)
	if err != nil {
		return err
	}
	defer work.close(log)
	s, err := server.New(app, options)
	if err != nil {
		return err
	}
	if err := mount(s, t); err != nil {
		return err
	}
	if err := mcpserver.Mount(s, mcpserver.Options{Version: options.Version, Plugins: parts.Tools(inForce(app, loaded)), Logger: log}); err != nil {
		return err
	}
	work.start(ctx, s, log)
	closeHooks, err := answerHooks(ctx, s, app, loaded, log)
	if err != nil {
		return err
	}
	defer closeHooks()
	if options.AdminListen != config.NoListener {
		closeConsole, err := mountConsole(s, &options, app, t, ready.Keys, activity)
		if err != nil {
			return err
		}
		defer closeConsole()
	}
	follow.Run(app, ready.Keys)
	defer follow.Close(ctx) // before the App
	stop := handleSignals(ctx, s)
	defer stop()
	defer context.AfterFunc(ctx, func() { tell(log, stateStopping) })()
	return s.Run(ctx)
}

// inForce returns the configuration of the App, which it reads again after a reload. One that cannot be read any more
// counts as the one before. Calls must not overlap.
func inForce(app *anchor.App, loaded *config.Loaded) func() *config.Loaded {
	number := app.Status().Number
	return func() *config.Loaded {
		if n := app.Status().Number; n != number {
			number = n
			if again, err := loaded.Again(); err == nil {
				loaded = again
			}
		}
		return loaded
	}
}

// addresses says where the listeners are. admin is nil if there is none.
func addresses(data, admin net.Addr, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	text := fmt.Sprintf("the API is at %s://%s", scheme, data)
	if admin != nil {
		text += fmt.Sprintf(", and health and reload at http://%s; the console is at http://%s/console/", admin, admin)
	}
	return text
}

// tell tells systemd a state, and logs if that fails: systemd then waits in vain.
func tell(log *slog.Logger, state string) {
	if err := notify(state); err != nil {
		log.Warn("service: systemd does not get its state", "state", state, "error", err)
	}
}

// closeTime bounds the end of the plugins and of work in the background.
const closeTime = 10 * time.Second

func closeApp(app *anchor.App, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := app.Close(ctx); err != nil {
		log.Warn("service ends: work in the background is cut", "error", err)
	}
}

// handleSignals reloads on SIGHUP, and cuts on the second signal that ends the service; ctx ends
// with the first one.
func handleSignals(ctx context.Context, s *server.Server) (stop func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		ends := 0
		for {
			select {
			case got := <-signals:
				if got == syscall.SIGHUP {
					_ = s.Reload(ctx, "SIGHUP") // it logs its error
					continue
				}
				if ends++; ends > 1 {
					s.Cut()
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
