#!/bin/sh
# Starts the hook with a certificate of its own making, asks it every question, has it verified, and stops it.
# Needs Go, and the command interpret, which is built if it is not installed.
set -eu
cd "$(dirname "$0")"
dir=$(mktemp -d)
hook=
stop() {
	if [ -n "$hook" ]; then kill "$hook" && wait "$hook" || true; fi
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' INT TERM

go build -o "$dir/hook" .
command -v interpret >/dev/null || { go build -o "$dir/interpret" ../../cmd/interpret && PATH=$dir:$PATH; }

# A certificate for the Service that configuration.yaml names. It is its own CA.
(cd "$dir" && go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" -ca -ecdsa-curve P256 -host workload-hook.default.svc) 2>"$dir/log"
sed "s|caBundle: .*|caBundle: $(base64 <"$dir/cert.pem" | tr -d '\n')|" configuration.yaml >"$dir/configuration.yaml"

"$dir/hook" -listen localhost:0 -tls-cert-file "$dir/cert.pem" -tls-private-key-file "$dir/key.pem" -drain 0s 2>"$dir/log" &
hook=$!
address=
while [ -z "$address" ]; do
	kill -0 "$hook" 2>/dev/null || { cat "$dir/log" >&2; exit 1; }
	address=$(sed -n 's/.*msg=serving address=//p' "$dir/log")
	sleep 0.1
done

# The Service's name means nothing outside of the cluster: the hook is here.
ask() {
	printf '\n## %s\n' "$1"
	interpret -f "$dir/configuration.yaml" --hook-address "default/workload-hook=$address" --operation "$@"
}
ask InterpretReplica --desired-file workload.yaml
ask InterpretComponent --desired-file workload.yaml
ask ReviseReplica --desired-file workload.yaml --desired-replica 5
sed 's/paused: false/paused: true/' workload.yaml | ask Retain --desired-file workload.yaml --observed-file -
ask InterpretDependency --desired-file workload.yaml
ask InterpretStatus --observed-file workload.yaml
ask InterpretHealth --observed-file workload.yaml
ask AggregateStatus --desired-file workload.yaml --status-file - <<EOF
clusterName: member1
status: {readyReplicas: 2}
---
clusterName: member2
status: {readyReplicas: 1}
---
clusterName: member3
EOF

printf '\n## Does it keep the protocol?\n'
interpret hook verify -f "$dir/configuration.yaml" --hook-address "default/workload-hook=$address" \
	--desired-file workload.yaml --observed-file workload.yaml
