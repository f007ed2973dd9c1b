#!/bin/sh
# A JDK of Java 17 or newer and Maven, for plugins in Java, from Debian's packages. TeaVM comes from Maven Central
# with the first build.
set -eu
if command -v mvn >/dev/null && command -v javac >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "java: missing, and cannot be installed here (install a JDK of Java 17 or newer, and Maven)" >&2
	exit 1
fi
echo "java: installing OpenJDK 17 and Maven from Debian's packages (about 350 MB)" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jdk-headless maven >/dev/null
