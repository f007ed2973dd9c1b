#!/bin/sh
# Installs schemathesis into a folder, unless it is there. If that is impossible, it says so; with CI=1
# that is a failure.
#
#	schemathesis.sh FOLDER
set -eu
here=$(dirname "$0")
folder=$1
python=${PYTHON:-python3}
if [ -x "$folder/bin/schemathesis" ] && cmp -s "$here/schemathesis.txt" "$folder/requirements.txt"; then
	exit 0
fi
rm -rf "$folder"
if "$python" -m venv "$folder" && "$folder/bin/pip" --disable-pip-version-check install --quiet --only-binary :all: --requirement "$here/schemathesis.txt"; then
	cp "$here/schemathesis.txt" "$folder/requirements.txt"
	exit 0
fi
rm -rf "$folder"
echo "SKIPPED: schemathesis cannot be installed (see above; it needs Python 3.10 or newer with venv, and a network)" >&2
test -z "${CI:-}"
