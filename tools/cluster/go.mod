module github.com/anchor-host/anchor-host/tools/cluster

go 1.26.0

require github.com/anishathalye/porcupine v1.0.2
