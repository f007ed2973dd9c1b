// Package setup runs code once, before the first call, for example to check settings or to
// build an index. Importing it adds the export anchor_init.
//
//	type Settings struct {
//		Folder string `json:"folder"`
//	}
//
//	func init() {
//		setup.Handle(func(s *Settings) error {
//			files, err := os.ReadDir(s.Folder)
//			if err != nil {
//				return pdk.Errorf("read %s: %w", s.Folder, err)
//			}
//			return index.Build(s.Folder, files)
//		})
//	}
//
// Every call finds the package variables as setup left them. A plugin that only needs
// [pdk.InitSettings] imports the package for its side effect.
package setup

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/settings"
)

var lane = serve.NewDocument(abi.OpInit)

func init() {
	lane.Export(onJSON)
	lane.Default(keep)
}

// Handle registers f, which receives the settings that the plugin was configured with. If it
// returns an error, the host does not use the plugin and shows the error to the operator.
func Handle[S any](f func(s *S) error) {
	lane.Handle(func(in []byte) (any, error) {
		if _, err := keep(in); err != nil {
			return nil, err
		}
		s, err := settings.Init[S]()
		if err != nil {
			return nil, err
		}
		return nil, f(s)
	})
}

// keep stores the settings for InitSettings.
func keep(in []byte) (any, error) {
	var req abi.InitRequest
	if len(in) > 0 {
		if err := json.Unmarshal(in, &req); err != nil {
			return nil, pdk.Errorf("init: decode request: %w", err)
		}
	}
	settings.SetInit(req.Settings)
	return nil, nil
}

//go:wasmexport anchor_init
func onJSON() int32 { return lane.JSON() }
