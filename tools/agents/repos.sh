#!/bin/sh
# Fetches the repositories of the questions from their registries: a Go module, an sdist of PyPI and a package of npm.
set -eu
to=${1:?folder}
mkdir -p "$to"
cd "$to"
if [ ! -d cobra ]; then
	go mod download github.com/spf13/cobra@v1.10.2
	cp -r "$(go env GOMODCACHE)/github.com/spf13/cobra@v1.10.2" cobra.new
	chmod -R u+w cobra.new && mv cobra.new cobra
fi
if [ ! -d flask ]; then
	pip download -q --no-deps --no-binary :all: flask==3.1.0
	tar xzf flask-3.1.0.tar.gz && rm flask-3.1.0.tar.gz && mv flask-3.1.0 flask
fi
if [ ! -d fastify ]; then
	npm pack -s fastify@5.2.1
	tar xzf fastify-5.2.1.tgz && rm fastify-5.2.1.tgz && mv package fastify
fi
