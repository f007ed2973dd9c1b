#!/usr/bin/env bash
# Runs exercise.sh with the file system of an image, as a container runtime would: the root cannot be
# written, the folders of SITE are mounted, and the user is that of the image. Call it in mount and
# network namespaces of its own.
#
#	enter.sh ROOT SITE
set -euo pipefail
root=$1 site=$2
mount --make-rprivate /
mount --bind "$root" "$root"
mkdir -p "$root/etc/anchor-host" "$root/etc/anchor-host-keys" "$root/proc" "$root/dev"
mount --bind -o ro "$site/etc/anchor-host" "$root/etc/anchor-host"
mount --bind -o ro "$site/etc/anchor-host-keys" "$root/etc/anchor-host-keys"
mount --bind "$site/data" "$root/data"
mount --bind /proc "$root/proc"
mount -t tmpfs none "$root/dev"
touch "$root/dev/null" "$root/dev/urandom"
mount --bind /dev/null "$root/dev/null"
mount --bind /dev/urandom "$root/dev/urandom"
mount -o remount,bind,ro "$root"
touch "$root/x" 2>/dev/null || echo "root cannot be written"

as=(env -i HOME=/data TMPDIR=/data ANCHOR_HOST_STORE_PATH=/data/store.db ANCHOR_HOST_PLUGINS_CACHE_DIR=/data/cache
	"$(command -v chroot)" --userspec=65532:65532 --groups=65532 "$root" /usr/local/bin/anchor-host)
bash "$(dirname "$0")/exercise.sh" "$site" "${as[@]}"
echo "uid $(stat -c %u "$site/data/store.db")"
