#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, for the time given: test/fuzz.sh 10m
set -euo pipefail
fuzztime=$1
go=${GO:-go}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Up to Go 1.26 the end of the fuzzing time itself is sometimes reported as a failure (go.dev/issue/75804).
# A finding has a failing input and more to say than that line.
only_out_of_time() {
	! grep -q 'Failing input written' "$log" &&
		[ "$(grep -A 2 -- '^--- FAIL:' "$log" | sed 1d)" = $'    context deadline exceeded\nFAIL' ]
}

# go test -list prints the targets of a package, then the package itself.
listing=$("$go" test -list '^Fuzz' ./...)
targets=$(awk '/^Fuzz/ {name[n++] = $1} /^ok/ {for (i = 0; i < n; i++) print $2, name[i]; n = 0}' <<<"$listing")
if [ -z "$targets" ]; then
	echo "no fuzz targets found" >&2
	exit 1
fi
while read -r package target; do
	echo "$package $target for $fuzztime"
	"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" "$package" </dev/null 2>&1 | tee "$log" ||
		only_out_of_time
done <<<"$targets"
