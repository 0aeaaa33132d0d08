#!/usr/bin/env bash
# Downloads a release of the plugin for the runner, and checks its sum, and its signature where
# cosign is there. VERSION is the tag of the release; what GITHUB_OUTPUT names gets program=PATH.
set -euo pipefail

repository=jobmanagedby/kubectl-jobmanagedby
if ! [[ ${VERSION:-} =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
	echo "::error::version must be the tag of a release, such as v1.2.3, not \"${VERSION:-}\". Use the action by a tag, or set version" >&2
	exit 2
fi
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) echo "::error::no support for $(uname -s); use a runner with Linux or macOS" >&2 && exit 2 ;;
esac
case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) echo "::error::no release for $(uname -m)" >&2 && exit 2 ;;
esac
dir=$(mktemp -d "${RUNNER_TEMP:-/tmp}/jobs-managedby.XXXXXX")
cd "$dir"
archive=kubectl-jobmanagedby_${VERSION}_${os}_${arch}.tar.gz
for file in "$archive" checksums.txt checksums.txt.sigstore.json; do
	curl --fail --silent --show-error --location --retry 3 --proto '=https' --output "$file" \
		"https://github.com/$repository/releases/download/$VERSION/$file"
done
if command -v cosign >/dev/null; then
	cosign verify-blob checksums.txt --bundle checksums.txt.sigstore.json \
		--certificate-identity "https://github.com/$repository/.github/workflows/release.yaml@refs/tags/$VERSION" \
		--certificate-oidc-issuer https://token.actions.githubusercontent.com
fi
sum=$(awk -v file="$archive" '$2 == file { print $1 }' checksums.txt)
if command -v sha256sum >/dev/null; then
	found=$(sha256sum "$archive")
else
	found=$(shasum -a 256 "$archive")
fi
if [[ -z $sum || ${found%% *} != "$sum" ]]; then
	echo "::error::$archive does not have the sum that checksums.txt of $VERSION names" >&2
	exit 1
fi
tar -xzf "$archive" kubectl-jobs_managedby
echo "program=$dir/kubectl-jobs_managedby" >>"$GITHUB_OUTPUT"
