# shellcheck shell=bash disable=SC2154,SC2034
# goreleaser: what is built, that it is the same each time, and what is in it.

HOME_URL=https://github.com/uchimanajet7/openai-responses-mcp

# copy DIR: the files of the repository as they are now, in a repository of
# their own with one commit at a fixed time, the version's tag, and the address
# of the real one.
copy() {
  mkdir -p "$1" || return
  git ls-files -coz --exclude-standard |
    while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done |
    tar --null -T - -cf - | tar -xf - -C "$1" || return
  (
    cd "$1" || exit
    export GIT_AUTHOR_DATE=2026-01-02T03:04:05Z GIT_COMMITTER_DATE=2026-01-02T03:04:05Z
    export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
    git init -q -b main && git add -A &&
      git -c user.name=test -c user.email=test@localhost commit -qm test &&
      git tag "v$version" && git remote add origin "$HOME_URL"
  )
}

# snapshot DIR MORE...: a release without the steps that publish.
snapshot() {
  local dir=$1
  shift
  (cd "$dir" && SYFT_CHECK_FOR_APP_UPDATE=false bounded goreleaser release --snapshot --clean "$@")
}

# again is a second run as different as it can be: in another folder, in another
# time zone, with another umask and one build at a time.
again() {
  local n=0 f
  git clone -q "$src" "$work/b" && git -C "$work/b" remote set-url origin "$HOME_URL" || return
  (
    umask 077
    export TZ=Asia/Tokyo
    snapshot "$work/b" --skip=docker,sign,sbom --parallelism 1
  ) || return
  for f in "$work"/b/dist/*.{tar.gz,zip,deb,rpm,apk,pkg.tar.zst} "$work"/b/bin/*.mcpb; do
    cmp "$f" "$src/${f#"$work/b/"}" || return
    n=$((n + 1))
  done
  rm -rf "$work/b"
  say "$n files"
  [ "$n" -eq 16 ]
}

# sums: checksums.txt is right, and names all that a release has to download.
sums() {
  local f
  cp "$src"/bin/*.mcpb "$dist" || return
  (cd "$dist" && sha256sum -c --quiet checksums.txt) || return
  for f in "$dist"/*.{tar.gz,zip,deb,rpm,apk,pkg.tar.zst,mcpb,sbom.json}; do
    grep -q "  $(basename "$f")\$" "$dist/checksums.txt" || {
      echo "no checksum of $f"
      return 1
    }
  done
  rm "$dist"/*.mcpb
  say "$(wc -l <"$dist/checksums.txt") files"
}

# archive FILE: holds what belongs to it, and the binary may be run.
archive() {
  local dir=$work/archive f
  rm -rf "$dir" && mkdir "$dir" || return
  case $1 in
  *.zip) unzip -q "$1" -d "$dir" ;;
  *) tar -xzf "$1" -C "$dir" ;;
  esac || return
  for f in README.md LICENSE config/config.yaml.example config/policy.md.example man/$name.1; do
    [ -s "$dir/$f" ] || {
      echo "$1 has no $f"
      return 1
    }
  done
  [ -x "$dir/$name" ] || [ -s "$dir/$name.exe" ]
}

archives() {
  local f n=0
  for f in "$dist"/*.tar.gz "$dist"/*.zip; do
    archive "$f" || return
    n=$((n + 1))
  done
  say "$n"
  [ "$n" -eq 7 ]
}

# sbom: the list of an archive names our module and one that it is built with.
sbom() {
  local f n=0
  for f in "$dist"/*.tar.gz "$dist"/*.zip; do
    if ! grep -q github.com/modelcontextprotocol/go-sdk "$f.sbom.json" || ! grep -q "$name" "$f.sbom.json"; then
      echo "$f.sbom.json does not tell what is inside"
      return 1
    fi
    n=$((n + 1))
  done
  say "$n"
}

# versions: the release's binary and that of go build say what the sources say,
# and the command of docs/release.md makes the released one.
versions() {
  same "$version" "$("$linux" --version)" "--version of the release" || return
  go build -o "$work/bin/$name" "./cmd/$name" || return
  same "$version" "$("$work/bin/$name" --version)" "--version of go build" || return
  local command
  command=$(grep '^CGO_ENABLED=0 go build' docs/release.md) || return
  GOARCH=amd64 sh -c "$command" && cmp "$name" "$linux" && rm "$name" && say "$version, $(mb "$linux")"
}

# notes: the changelog has something to say of this version.
notes() {
  local lines
  lines=$(go run ./packaging/notes "v$version" | wc -l) && say "$lines lines"
}

# ours are the small programs of test/release.
ours() { go build -o "$work/bin/" ./test/release/tag ./test/release/talk ./test/release/tlsapi; }

build_proofs() {
  proof "a copy of the repository" copy "$src"
  cd "$src" || exit # whoever works on the repository meanwhile changes nothing here
  proof "programs of test/release" ours
  proof "actionlint" actionlint
  proof "goreleaser check" goreleaser check
  proof "goreleaser release --snapshot" snapshot "$src" --skip=docker,sign
  # Whatever follows needs it.
  linux=$(echo "$dist"/binary_linux_amd64*/"$name")
  proof "a second run makes the same bytes" again
  proof "checksums" sums
  proof "archives" archives
  proof "SBOMs" sbom
  proof "one version, and the same bytes by go build" versions
  proof "release notes" notes
}
