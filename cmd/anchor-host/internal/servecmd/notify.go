package servecmd

import (
	"net"
	"os"
	"time"
)

// What notify tells systemd.
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
)

// notify tells systemd a state of the service, if systemd has started it with Type=notify: the
// variable NOTIFY_SOCKET then names a socket for it. An "@" at the start of the name stands for
// the abstract name space, as in package net. Without the variable it does nothing.
func notify(state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	_, err = c.Write([]byte(state))
	return err
}
