package main

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi"
)

// versionInfo is what "version" prints.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	ABI      int    `json:"abi"`
	Go       string `json:"go"`
	Wazero   string `json:"wazero"`
	Platform string `json:"platform"`
}

// readVersion reads what the linker recorded.
func readVersion() versionInfo {
	v := versionInfo{
		Version: "devel", ABI: abi.Version, Go: runtime.Version(), Wazero: "unknown",
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/tetratelabs/wazero" {
			v.Wazero = dep.Version
		}
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    `Print the version of anchor-host, of the plugin contract (ABI), Go and wazero.`,
		Example: `  anchor-host version -o json`,
		Args:    cobra.NoArgs,
	}
	format := formatFlag(cmd, "text", "json", "yaml")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		v := readVersion()
		if *format != "text" {
			if err := checkFormat(cmd, *format, "text", "json", "yaml"); err != nil {
				return err
			}
			return a.print(cmd, *format, listing{data: v})
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "anchor-host %s (ABI %d, %s, wazero %s, %s)\n", v.Version, v.ABI, v.Go, v.Wazero, v.Platform)
		return a.emit(&b)
	})
	return cmd
}
