// Command console walks the console of a service in Chromium: every page, with the keyboard too. It
// keeps screenshots, looks for what people with disabilities cannot use (axe-core), fails if a page
// asks another host or breaks its own security policy, and measures how soon large pages are there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "console:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	command, config, axe, out string
	builds                    int
}

func run(ctx context.Context, args []string) error {
	var o options
	fs := flag.NewFlagSet("console", flag.ContinueOnError)
	fs.StringVar(&o.command, "command", "", "path of anchor-host")
	fs.StringVar(&o.config, "config", "", "configuration with plugins")
	fs.StringVar(&o.axe, "axe", "", "path of axe.min.js")
	fs.StringVar(&o.out, "out", "", "folder for screenshots")
	fs.IntVar(&o.builds, "builds", 10_000, "builds in the list that is measured")
	if err := fs.Parse(args); err != nil {
		return err
	}
	axe, err := os.ReadFile(o.axe)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	s, err := startService(ctx, &o)
	if err != nil {
		return err
	}
	defer s.stop()
	began := time.Now()
	if err := s.fill(ctx); err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	fmt.Printf("%d builds in %s\n", o.builds, time.Since(began).Round(time.Second))
	b, err := startBrowser(ctx, s.admin, string(axe), o.out)
	if err != nil {
		return err
	}
	defer b.stop()
	err = errors.Join(b.signIn(s.key), b.walk(s.pages()), b.keyboard(), b.tick(), b.measure(s), b.docs(s))
	if err == nil {
		fmt.Println("screenshots are in", filepath.Clean(o.out))
	}
	return errors.Join(err, b.findings())
}
