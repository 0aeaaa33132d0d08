# build.sh is read by scripts that install programs from Go modules of this repository, with
# their arguments: [-q] DIR. It sets $here, the folder of the script, and $dir, and makes DIR.
# What it builds is kept in the user's cache folder, a folder for every state of a module.

ask=no
[ "${1:-}" != -q ] || { ask=yes; shift; }
dir=${1:?usage: $usage}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# answer PROGRAM ends install.sh -q: with 1 if the program is still to be built.
answer() { [ "$ask" = no ] || { [ -x "$1" ] && exit 0 || exit 1; }; }

# link TARGET NAME puts a link into $dir.
link() { ln -sfn "$1" "$dir/$2"; }

# cache_of NAME MODULE FILE... is the folder for what is built of a module in the state
# that its go.mod, its go.sum and those files are in.
cache_of() {
	name=$1
	module=$2
	shift 2
	key=$(cat "$module/go.mod" "$module/go.sum" "$@" | cksum | tr ' ' -)
	echo "${XDG_CACHE_HOME:-${HOME:?HOME or XDG_CACHE_HOME has to be set}/.cache}/kubectl-jobmanagedby/$name-$key"
}

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

# build CACHE MODULE WHAT LDFLAGS PACKAGE... builds programs into CACHE, and says so. They
# are built beside the place where they are looked for, and the last one is put there
# last: where that is, all are, and whole.
build() {
	[ "$ask" = no ] || exit 1
	cache=$1
	module=$2
	what=$3
	ldflags=$4
	shift 4
	mkdir -p "$cache"
	partial=$(mktemp -d "$cache/partial.XXXXXX")
	trap 'rm -rf "$partial"' EXIT
	(
		cd "$module"
		# The flags of the Makefile, so that what others compile is not compiled again.
		export CGO_ENABLED=0 GOFLAGS="-trimpath -gcflags=all=-dwarf=false"
		# The compiler spends a fifth of its time on garbage collection otherwise.
		export GOGC=400
		echo "downloading $what" >&2
		go mod download
		packages=$(go list -deps "$@" | wc -l)
		echo "building $what, once" >&2
		{
			go build -v -o "$partial/" -ldflags "-s -w $ldflags" "$@" 2>&1 || echo "go build failed" >"$partial/failed"
		} | progress "$packages"
		[ ! -e "$partial/failed" ]
		for package in "$@"; do
			program=$(go list -f '{{.Target}}' "$package")
			mv "$partial/$(basename "$program")" "$cache"
		done
	)
}
