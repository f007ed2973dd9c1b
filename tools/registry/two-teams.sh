#!/bin/sh
# The work of two teams: an author makes a plugin, and an operator runs it.
#
# usage: two-teams.sh REGISTRY
#
# REGISTRY is a registry that may be written to, such as localhost:5000. The script needs
# anchor-host, Go and git, and works in the current folder, which is empty.
set -eu
registry=$1
reference=oci://$registry/acme/keep-best

say() { printf '\n== %s\n' "$1"; }

# refused CODE COMMAND... : the command ends with this exit code.
refused() {
	want=$1 got=0
	shift
	"$@" || got=$?
	[ "$got" = "$want" ] || { echo "$*: exit code $got, want $want" >&2; exit 1; }
}

# replace OLD NEW FILE : the text is there, and is replaced.
replace() {
	grep -q "$1" "$3" || { echo "$3 has no $1" >&2; exit 1; }
	sed "s|$1|$2|" "$3" >"$3.new"
	mv "$3.new" "$3"
}

say "author: makes a key and a plugin"
mkdir author operator
cd author
printf 'a password\n' >password
anchor-host plugin keygen --key acme.key --password-file password
anchor-host plugin new keep-best --lang go

say "author: builds, tests and publishes version 0.1.0"
cd keep-best
export ANCHOR_HOST_KEY_PASSWORD='a password'
anchor-host plugin build
anchor-host plugin test build/keep-best.wasm >test.txt || { cat test.txt; exit 1; }
anchor-host plugin publish --dry-run build/keep-best.wasm "$reference" --key ../acme.key
anchor-host plugin sign build/keep-best.wasm --key ../acme.key
anchor-host plugin verify build/keep-best.wasm --public-key ../acme.pub
anchor-host plugin publish --unchecked build/keep-best.wasm "$reference" --key ../acme.key
# To publish what is there already changes nothing.
anchor-host plugin publish build/keep-best.wasm "$reference" --key ../acme.key

say "operator: trusts the author, and installs the plugin"
cd ../../operator
git init --quiet .
# The key of the author came by another way than the registry.
cat >anchor.yaml <<END
trust:
  require: signed
  publishers: {"$registry/acme/*": ["$(tail -n 1 ../author/acme.pub)"]}
store: {path: store.db}
retrievers: {notes: {collection: notes}}
steps:
  - {name: find, use: notes}
  - {name: keep, use: "$reference:0.1.0", settings: {word: tea}}
END
mkdir notes
echo "I like tea." >notes/tea.md
echo "I like coffee." >notes/coffee.md
anchor-host ingest notes --collection notes
printf '.anchor.lock.held\nplugins\nstore.db*\n' >.gitignore
refused 8 anchor-host build --strict "What do I like?"
anchor-host plugin install
anchor-host config validate
anchor-host build --strict "What do I like?" | tee window.txt
grep -q tea window.txt
if grep -q coffee window.txt; then echo "the plugin kept what it should remove" >&2; exit 1; fi
git add anchor.yaml anchor.lock .gitignore
git -c user.name=operator -c user.email=operator@example.com commit --quiet --message "keep-best 0.1.0"

say "operator: records a build for the author"
anchor-host build --strict --record ../author/cases "What do I like?" >/dev/null

say "author: wants a permission more, and has to raise the version for it"
cd ../author/keep-best
anchor-host plugin test build/keep-best.wasm --cases ../cases >test.txt || { cat test.txt; exit 1; }
cat >>plugin.yaml <<END
permissions:
  - {kind: http, hosts: [api.example.com], methods: [GET], reason: looks words up}
END
replace 'version: 0.1.0' 'version: 0.1.1' plugin.yaml
anchor-host plugin build
refused 1 anchor-host plugin publish --dry-run build/keep-best.wasm "$reference" --key ../acme.key >refused.txt
cat refused.txt
grep -q 'permission more: .*want at least 0.2.0' refused.txt
replace 'version: 0.1.1' 'version: 1.0.0' plugin.yaml
anchor-host plugin build
anchor-host plugin diff "$reference:0.1.0" build/keep-best.wasm --cases ../cases
anchor-host plugin publish build/keep-best.wasm "$reference" --key ../acme.key

say "operator: sees the update; it waits, and the old version runs"
cd ../../operator
anchor-host plugin update --dry-run
replace 'keep-best:0.1.0' 'keep-best:1.0.0' anchor.yaml
refused 5 anchor-host plugin update
git checkout --quiet anchor.yaml
anchor-host build --strict "What do I like?" >/dev/null

say "operator: looks at what it answers and asks for, and approves it"
anchor-host plugin diff "$reference:0.1.0" "$reference:1.0.0" --cases ../author/cases >diff.txt
grep '+ http' diff.txt
replace 'keep-best:0.1.0' 'keep-best:1.0.0' anchor.yaml
refused 5 anchor-host plugin approve keep-best </dev/null
anchor-host plugin approve keep-best --yes
anchor-host plugin verify
anchor-host build --strict "What do I like?" >/dev/null

say "operator: goes back, without a network"
git checkout --quiet anchor.yaml anchor.lock
anchor-host plugin install --frozen --offline
anchor-host plugin verify
anchor-host build --strict "What do I like?" >again.txt
cmp window.txt again.txt

say "done"
