package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// tenants have keys in every cluster. The last one has a limit.
var tenants = []string{"acme", "initech", limited}

const (
	limited = "limited"
	// rate is the limit of that tenant, in requests of a second.
	rate = 20
)

// host is one host of the cluster, with a wire of its own to the database.
type host struct {
	name, dir, command string
	port, admin        int
	wire               *wire
	env, args          []string
	cmd                *exec.Cmd
	exited             chan struct{}
}

const configuration = `counting: {tokenizer: cl100k_base}
window: {max_tokens: 4000, answer: 200}
store: {path: "%s", timeout: 3s}
pipelines: {main: {}}
builds: {records: {}}
server: {keys: ../keys.yaml, drain_delay: none, watch: false, follow: true, follow_dir: followed}
`

// makeKeys makes the file of the keys that all hosts share.
func makeKeys(ctx context.Context, command, dir string) (map[string]string, error) {
	keys, file := map[string]string{}, filepath.Join(dir, "keys.yaml")
	for _, tenant := range tenants {
		out, err := exec.CommandContext(ctx, command, "keys", "add", "--file", file, "--tenant", tenant, "--scopes", "build,memory:read,memory:write,admin,content").Output()
		if err != nil {
			return nil, fmt.Errorf("keys add: %w", err)
		}
		keys[tenant] = strings.TrimSpace(string(out))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return keys, os.WriteFile(file, fmt.Appendf(text, "tenants:\n  %s: {requests_per_second: %d}\n", limited, rate), 0o600)
}

// newHost makes the folder of a host. Its store is at a port of this machine.
func newHost(command, dir, name string, database *database) (*host, error) {
	h := &host{name: name, dir: filepath.Join(dir, name), command: command}
	var err error
	if h.port, err = freePort(); err != nil {
		return nil, err
	}
	if h.admin, err = freePort(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(h.dir, 0o755); err != nil {
		return nil, err
	}
	return h, h.configure(database)
}

// configure writes the configuration of the host, with a wire to a database.
func (h *host) configure(database *database) (err error) {
	if h.wire, err = newWire(fmt.Sprintf("127.0.0.1:%d", database.port)); err != nil {
		return err
	}
	text := fmt.Sprintf(configuration, "postgres://anchor@"+h.wire.address()+"/anchor?sslmode=disable")
	return os.WriteFile(filepath.Join(h.dir, "anchor.yaml"), []byte(text), 0o644)
}

func (h *host) url() string { return fmt.Sprintf("http://127.0.0.1:%d", h.port) }

// start starts the host and waits until it is ready.
func (h *host) start(ctx context.Context) error {
	if err := h.begin(); err != nil {
		return err
	}
	return h.ready(ctx)
}

// begin starts the process.
func (h *host) begin() error {
	log, err := os.OpenFile(filepath.Join(h.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := append([]string{"serve", "--listen", fmt.Sprintf("127.0.0.1:%d", h.port), "--admin-listen", fmt.Sprintf("127.0.0.1:%d", h.admin), "--log-level", "warn"}, h.args...)
	h.cmd = exec.Command(h.command, args...)
	h.cmd.Dir, h.cmd.Stderr, h.cmd.Env = h.dir, log, append(os.Environ(), h.env...)
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := h.cmd.Start(); err != nil {
		return err
	}
	h.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // how it ended is asked for where it matters
		close(exited)
	}(h.cmd, h.exited)
	return nil
}

// ready waits until the host takes requests.
func (h *host) ready(ctx context.Context) error {
	client := http.Client{Timeout: 2 * time.Second}
	defer client.CloseIdleConnections()
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		resp, err := client.Get(h.url() + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-h.exited:
			return fmt.Errorf("host %s ended: %s", h.name, h.logged())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("host %s is not ready: %s", h.name, h.logged())
}

// logged is the end of the log.
func (h *host) logged() string {
	text, _ := os.ReadFile(filepath.Join(h.dir, "log")) // without it there is nothing to show
	return string(text[max(0, len(text)-1500):])
}

// kill ends the host as kill -9 does.
func (h *host) kill() {
	_ = h.cmd.Process.Kill() // it may have ended
	<-h.exited
}

// stop ends the host in order.
func (h *host) stop() error {
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-h.exited:
	case <-time.After(time.Minute):
		h.kill()
		return errors.New("the host did not end")
	}
	return nil
}
