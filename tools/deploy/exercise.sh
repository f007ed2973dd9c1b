#!/usr/bin/env bash
# Runs a host in a network of its own, and uses it: health, a build with a plugin, what needs a key,
# a reload, a backup of the store, the end. Everything that it prints is read by the tests.
#
#	exercise.sh SITE COMMAND...
#
# SITE is a folder with the file "key", the key of a client. COMMAND is the command anchor-host, to
# which the arguments are added; ROOTED=1 says that it sees the folders of its image.
set -euo pipefail
site=$1
shift
ip link set lo up

config=$site/etc/anchor-host/anchor.yaml backup=$site/data/backup.db
[ -z "${ROOTED:-}" ] || config=/etc/anchor-host/anchor.yaml backup=/data/backup.db

"$@" serve --config "$config" --log-format json &
host=$!
trap 'kill -9 $host 2>/dev/null || true' EXIT
for _ in $(seq 600); do
	curl -sf localhost:8790/readyz >/dev/null && break
	kill -0 $host
	sleep 0.1
done
echo "ready: $(curl -s -o /dev/null -w '%{http_code}' localhost:8790/readyz)"
echo "live: $(curl -s -o /dev/null -w '%{http_code}' localhost:8790/livez)"
echo "metrics: $(curl -s localhost:8791/metrics | grep -c '^anchor_')"
echo "without a key: $(curl -s -o /dev/null -w '%{http_code}' localhost:8790/v1/builds -d '{}' -H 'content-type: application/json')"
key="authorization: Bearer $(cat "$site/key")"
request='{"query": "night train", "counting": {"tokenizer": "words"}, "window": {"max_tokens": 100},
	"items": [{"id": "a", "source": "retrieval", "content": "the night train leaves at nine", "score": 0.9}, {"id": "b", "source": "retrieval", "content": "tea", "score": 0.1}],
	"steps": [{"name": "close", "use": "keep-best", "settings": {"share": 0.5}}]}'
echo "build: $(curl -s localhost:8790/v1/builds -H "$key" -H 'content-type: application/json' -d "$request")"
echo "fact: $(curl -s -o /dev/null -w '%{http_code}' localhost:8790/v1/memory/facts -H "$key" -H 'content-type: application/json' -d '{"content": "Ann takes the night train"}')"
echo "reload: $(curl -s -o /dev/null -w '%{http_code}' -X POST localhost:8791/admin/v1/reload -H "$key")"
"$@" store backup "$backup"
# The host may be a child of what traces it.
pid=$(pgrep -P $host | head -1 || true)
kill -TERM "${pid:-$host}"
code=0
wait $host || code=$?
trap - EXIT
echo "the end: $code"
