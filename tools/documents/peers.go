package main

// peerReaders are other libraries for PDF in Go.
var peerReaders = map[string]func([]byte) (string, error){}
