#!/bin/sh
# Zig 0.16.0 from npm, for plugins in Zig: leaves build/_toolchains/bin/zig.
set -eu
cd "$(dirname "$0")/../.."
bin=build/_toolchains/bin
sh tools/toolchains/npm.sh
mkdir -p $bin
cat > $bin/zig <<'END'
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/../npm/node_modules/.bin/zig" "$@"
END
chmod +x $bin/zig
[ "$($bin/zig version)" = 0.16.0 ] || { echo "zig: version $($bin/zig version), want 0.16.0" >&2; exit 1; }
