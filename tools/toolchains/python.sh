#!/bin/sh
# componentize-py from PyPI, for plugins in Python: leaves build/_toolchains/bin/componentize-py
# and the Python of its environment beside it in build/_toolchains/python/bin.
set -eu
cd "$(dirname "$0")/../.."
version=0.25.1
to=build/_toolchains/python
[ "$($to/bin/componentize-py --version 2>/dev/null)" = "componentize-py $version" ] || {
	python3 -c 'import ensurepip' 2>/dev/null || {
		if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
			echo "python: missing, and cannot be installed here (install Python 3.10 or newer with venv)" >&2
			exit 1
		fi
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null
	}
	rm -rf $to
	python3 -m venv $to
	$to/bin/pip install -q --disable-pip-version-check "componentize-py==$version"
}
mkdir -p build/_toolchains/bin
ln -sfn ../python/bin/componentize-py build/_toolchains/bin/componentize-py
