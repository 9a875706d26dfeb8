#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, for the time given: test/fuzz.sh 10m
set -euo pipefail
fuzztime=$1
go=${GO:-go}

# go test -list prints the targets of a package, then the package itself.
listing=$("$go" test -list '^Fuzz' ./...)
targets=$(awk '/^Fuzz/ {name[n++] = $1} /^ok/ {for (i = 0; i < n; i++) print $2, name[i]; n = 0}' <<<"$listing")
if [ -z "$targets" ]; then
	echo "no fuzz targets found" >&2
	exit 1
fi
while read -r package target; do
	echo "$package $target for $fuzztime"
	"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" "$package" </dev/null
done <<<"$targets"
