# shellcheck shell=bash disable=SC2154,SC2034
# The tools of other people: each built once for its version and that of Go,
# into the user's cache folder.

GORELEASER=v2.16.0 # as in release.yml
SYFT=v1.52.0
ACTIONLINT=v1.7.12 # as in ci.yml
REGISTRY=v1.8.7    # as in release.yml
DEBIAN=(buildah busybox-static gh jq man-db rpm ruby shellcheck unzip zstd)
COMMANDS=(buildah busybox gh jq man rpm ruby shellcheck unzip zstd)

# tool NAME PACKAGE VERSION: puts it first in PATH.
tool() {
  local dir
  dir=${XDG_CACHE_HOME:-$HOME/.cache}/openai-responses-mcp/$1-$3-$(go env GOVERSION) || return
  if [ ! -x "$dir/$1" ]; then
    mkdir -p "$dir" || return
    # A folder of its own: two runs at once must not see a half of it.
    GOBIN=$work/build-$1 bounded go install "$2@$3" && mv "$work/build-$1/$1" "$dir/$1" || return
  fi
  PATH=$dir:$PATH
}

# debian installs what is missing, which only root can.
debian() {
  local missing=0 c
  for c in "${COMMANDS[@]}"; do
    command -v "$c" >/dev/null || missing=1
  done
  [ "$missing" -eq 1 ] || return 0
  bounded apt-get update && DEBIAN_FRONTEND=noninteractive bounded apt-get install -y --no-install-recommends "${DEBIAN[@]}"
}

# validators are programs of the npm registry, from a lock file.
validators() {
  mkdir "$work/validators" && cp "$here"/package*.json "$here"/*.mjs "$work/validators" &&
    cd "$work/validators" && bounded npm ci --ignore-scripts --no-audit --no-fund
}

tools_here() {
  proof "goreleaser $GORELEASER" tool goreleaser github.com/goreleaser/goreleaser/v2 "$GORELEASER"
  proof "syft $SYFT" tool syft github.com/anchore/syft/cmd/syft "$SYFT"
  proof "actionlint $ACTIONLINT" tool actionlint github.com/rhysd/actionlint/cmd/actionlint "$ACTIONLINT"
  proof "packages of Debian" debian
  proof "validators of npm" in_subshell validators
}

in_subshell() { ("$@"); }
