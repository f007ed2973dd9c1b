// Package connect writes hooks and the entry of our MCP server into the settings of coding agents, and takes them out
// again.
//
//	plan, err := connect.New("claude", connect.Options{Command: "/usr/bin/anchor-host"})
//	changes, err := plan.Connect()
//	for _, c := range changes {
//		fmt.Print(c.Diff())
//		err = c.Apply()
//	}
//
// Settings belong to others. What others wrote stays byte for byte, comments and order included. A file that cannot be
// read as what it should be is refused and not touched. Each change of a file is kept as a receipt, so that a removal
// restores the file byte for byte, as long as nobody else has changed it; otherwise only our entries are taken out.
package connect
