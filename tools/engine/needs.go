package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// need is a requirement of a row that a fresh clone or a machine may lack.
type need struct {
	what, remedy string
	there        func(*suite) bool
}

var (
	needPeers = &need{"the modules of " + goSDK + " and hashicorp/go-plugin", "go -C tools/engine mod download",
		func(*suite) bool { return peersBuiltIn }}
	needQuickJS = &need{"node and QuickJS", "sh tools/toolchains/js.sh",
		func(s *suite) bool { return s.guests.hasJavaScript() }}
	needCores = &need{"a second core", "measure on another machine",
		func(*suite) bool { return runtime.NumCPU() > 1 }}
	needMappings = &need{"/proc/self/smaps", "measure on Linux",
		func(*suite) bool { return isFile("/proc/self/smaps") }}
	needCommand = &need{"the command and the example plugins", "make build plugins", (*suite).hasCommand}
)

// absent returns the error of a row whose requirement is missing, and nil otherwise.
func (n *need) absent(s *suite) error {
	if n == nil || n.there(s) {
		return nil
	}
	return fmt.Errorf("%w here: needs %s (%s)", errAbsent, n.what, n.remedy)
}

// announce says what cannot be measured, with the remedy, before the first row.
func (s *suite) announce(rows []row) {
	var lacking []*need
	names := map[*need][]string{}
	note := func(n *need, name string) {
		if n.absent(s) == nil {
			return
		}
		if names[n] == nil {
			lacking = append(lacking, n)
		}
		names[n] = append(names[n], name)
	}
	for i := range rows {
		note(rows[i].needs, rows[i].name)
		note(rows[i].partly, rows[i].name+" (in part)")
	}
	for _, n := range lacking {
		s.progress("%v: %s", n.absent(s), strings.Join(names[n], ", "))
	}
}

// hasJavaScript reports whether there is a module in JavaScript, or the tools to link one.
func (g *guests) hasJavaScript() bool {
	if g.linkedJavaScript() {
		return true
	}
	_, err := exec.LookPath("node")
	return err == nil && isFile(g.quickJS())
}

// hasCommand reports whether the command and the plugins of a build are there.
func (s *suite) hasCommand() bool {
	for _, file := range append(pluginFiles(s.pluginFolder()), s.opts.binary) {
		if !isFile(file) {
			return false
		}
	}
	return true
}

// isFile reports whether a file or folder is there.
func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
