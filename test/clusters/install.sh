#!/bin/sh
# install.sh DIR puts etcd, the Kubernetes control plane, kubectl, kwok and
# kwokctl into DIR, as links. Programs that KUBEBUILDER_ASSETS or PATH already
# has are taken; the others are built from the Go module proxy, once for every
# state of controlplane/, into the user's cache folder (4 to 8 minutes on 2 cores
# the first time). It says what it builds, and how far it is.
#
# install.sh -q DIR builds nothing: it ends with 1 if that is still to be done.
set -eu

ask=no
[ "${1:-}" != -q ] || { ask=yes; shift; }
dir=${1:?usage: install.sh [-q] DIR}
here=$(cd "$(dirname "$0")" && pwd)
source=$here/controlplane
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

controlplane="etcd kube-apiserver kube-controller-manager kube-scheduler kubectl"

find_program() {
	old_ifs=$IFS
	IFS=:
	for folder in ${KUBEBUILDER_ASSETS:-} $PATH; do
		if [ -x "$folder/$1" ] && [ "$folder" != "$dir" ]; then
			IFS=$old_ifs
			echo "$folder/$1"
			return
		fi
	done
	IFS=$old_ifs
	return 1
}

# new_enough says whether an API server keeps managedBy for good: from 1.35 on.
new_enough() {
	minor=$("$1" --version 2>/dev/null | sed -n 's/^Kubernetes v1\.\([0-9]*\).*/\1/p')
	[ "${minor:-0}" -ge 35 ]
}

link() { ln -sfn "$1" "$dir/$2"; }

# progress makes of the packages that go build -v prints one line in 10 seconds,
# and passes on all else, such as errors. $1 is how many packages there are.
progress() {
	started=$(date +%s)
	said=$started
	compiled=0
	while IFS= read -r line; do
		case $line in
		*[\ :]*) echo "$line" ;;
		*)
			compiled=$((compiled + 1))
			now=$(date +%s)
			[ $((now - said)) -ge 10 ] || continue
			said=$now
			echo "  $((now - started)) s: compiled $compiled of at most $1 packages"
			;;
		esac
	done >&2
}

found_all=yes
for program in $controlplane kwok kwokctl; do
	path=$(find_program "$program") || { found_all=no; break; }
	[ "$program" != kube-apiserver ] || new_enough "$path" || { found_all=no; break; }
done
if [ "$found_all" = yes ]; then
	[ "$ask" = no ] || exit 0
	for program in $controlplane kwok kwokctl; do
		link "$(find_program "$program")" "$program"
	done
	exit 0
fi

key=$(cat "$source/go.mod" "$source/go.sum" "$source"/*.go | cksum | tr ' ' -)
cache=${XDG_CACHE_HOME:-${HOME:?HOME or XDG_CACHE_HOME has to be set}/.cache}/kubectl-jobmanagedby/controlplane-$key
[ "$ask" = no ] || { [ -x "$cache/kwokctl" ] && exit 0 || exit 1; }
if [ ! -x "$cache/kwokctl" ]; then
	version=$(sed -n 's/^.*k8s\.io\/kubernetes v/v/p' "$source/go.mod")
	minor=${version#v1.}
	minor=${minor%%.*}
	info=k8s.io/component-base/version
	mkdir -p "$cache"
	# Built beside the place where they are looked for: what is there is whole.
	partial=$(mktemp -d "$cache/partial.XXXXXX")
	trap 'rm -rf "$partial"' EXIT
	(
		cd "$source"
		# The flags of the Makefile, so that what others compile is not compiled again.
		export CGO_ENABLED=0 GOFLAGS="-trimpath -gcflags=all=-dwarf=false"
		echo "downloading Kubernetes $version, etcd and kwok" >&2
		go mod download
		programs=". sigs.k8s.io/kwok/cmd/kwok sigs.k8s.io/kwok/cmd/kwokctl"
		# shellcheck disable=SC2086 # they are words
		packages=$(go list -deps $programs | wc -l)
		echo "building Kubernetes $version, etcd and kwok, once" >&2
		{
			# shellcheck disable=SC2086
			go build -v -o "$partial/" -ldflags "-s -w -X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=$minor" $programs 2>&1 || echo "go build failed" >"$partial/failed"
		} | progress "$packages"
		[ ! -e "$partial/failed" ]
	)
	# The last one, because its presence says that the folder is whole.
	mv "$partial/controlplane" "$partial/kwok" "$cache"
	mv "$partial/kwokctl" "$cache"
fi
for program in $controlplane; do
	link "$cache/controlplane" "$program"
done
link "$cache/kwok" kwok
link "$cache/kwokctl" kwokctl
