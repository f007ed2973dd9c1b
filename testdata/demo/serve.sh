#!/usr/bin/env bash
# Starts the service with the demo's plugins, and prints three requests and the address of the console. With CHECK=1 it also sends
# them, and ends the service.
#
#	serve.sh COMMAND CONFIGURATION
set -euo pipefail

api=127.0.0.1:${PORT:-8790} admin=127.0.0.1:${ADMIN_PORT:-8791}
requests=(
	"curl -sS $api/v1/builds -H 'content-type: application/json' -d '{\"pipeline\": \"docs\", \"query\": \"How do I decode JSON into a struct?\"}'"
	"curl -sSN $api/v1/builds -H 'content-type: application/json' -H 'accept: text/event-stream' -d '{\"pipeline\": \"docs\", \"query\": \"How do I sort a slice?\"}'"
	"curl -sS -X POST $admin/admin/v1/reload"
)

export ANCHOR_HOST_BUILDS_RECORDS_CONTENT=true # the console shows the windows with their texts
"$1" serve --config "$2" --store "$(dirname "$2")/service.db" --listen "$api" --admin-listen "$admin" &
service=$!
trap 'kill $service 2>/dev/null; wait $service' EXIT
until curl -sf "$api/readyz" >/dev/null; do
	kill -0 $service || exit 1
	sleep 0.1
done
printf '%s\n' "${requests[@]}"
echo "the console: http://$admin/console/"
if [ -n "${CHECK:-}" ]; then
	for request in "${requests[@]}"; do
		bash -c "$request"
		echo
	done
	exit
fi
trap - EXIT
wait $service
