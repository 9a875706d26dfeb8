#!/usr/bin/env bash
# Prints the directory with the binaries of a control plane: etcd, kube-apiserver and kubectl. A directory named by
# KUBEBUILDER_ASSETS is taken as it is. Otherwise they are built from the module beside this script, once for each
# version of it, into the user's cache. What happens is told on standard error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
go=${GO:-go}
binaries=(etcd kube-apiserver kubectl)

say() { echo "envtest: $*" >&2; }

has_all() {
	for binary in "${binaries[@]}"; do
		[ -x "$1/$binary" ] || return 1
	done
}

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
	has_all "$KUBEBUILDER_ASSETS" || { say "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS must hold ${binaries[*]}" && exit 1; }
	say "using KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS"
	echo "$KUBEBUILDER_ASSETS"
	exit
fi

# go.sum tells all versions, this script how they are built. The same sources make another binary elsewhere.
key=$(cat go.mod go.sum build.sh <("$go" env GOVERSION GOOS GOARCH) | git hash-object --stdin | cut -c 1-12)
cache=${XDG_CACHE_HOME:-${HOME:?names the place of the cache}/.cache}/interpret-envtest
dir=$cache/$key
if has_all "$dir"; then
	say "up to date in $dir"
	echo "$dir"
	exit
fi

# Built aside and then moved, so that nobody ever sees half of it.
mkdir -p "$cache"
new=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
version=$("$go" list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
stamp=k8s.io/component-base/version
flags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor"

build() {
	say "building $1 $3"
	"$go" build -ldflags "$flags" -o "$new/$1" "$2"
}
say "building into $dir; the first time takes about ten minutes on two cores, for Kubernetes is compiled from source"
build etcd go.etcd.io/etcd/server/v3 "$("$go" list -m -f '{{.Version}}' go.etcd.io/etcd/server/v3)"
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$version"
build kubectl k8s.io/kubernetes/cmd/kubectl "$version"
chmod 755 "$new"
has_all "$dir" || { rm -rf "$dir" && mv "$new" "$dir"; }
say "built"
echo "$dir"
