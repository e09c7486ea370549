# shellcheck shell=bash disable=SC2154,SC2034
# What users install: Linux packages, the cask, the bundle, the registry's
# entry, npm.

# installed FILE: unpacks a Linux package as its manager does and runs what is
# in it.
installed() {
  local dir=$work/root-${1##*.}
  mkdir "$dir" || return
  case $1 in
  *.deb) dpkg-deb -x "$1" "$dir" ;;
  *.rpm) rpm -K --nosignature "$1" && rpm --root "$dir" --dbpath /var/lib/rpm -i --nodeps "$1" ;;
  *.apk) tar -xzf "$1" -C "$dir" 2>/dev/null ;; # three streams, one behind the other
  *.zst) tar --zstd -xf "$1" -C "$dir" ;;
  esac || return
  [ -s "$dir/usr/share/man/man1/$name.1" ] && [ -s "$dir/usr/share/doc/$name/config.yaml.example" ] || return
  cmp "$linux" "$dir/usr/bin/$name" && [ -x "$dir/usr/bin/$name" ] || return
  same "$version" "$("$dir/usr/bin/$name" --version)" "--version" || return
  answers "$dir/usr/bin/$name" && say "$(mb "$1")"
}

# meta: the packages know their version.
meta() {
  same "$version" "$(dpkg-deb -f "$dist/${name}_${version}_linux_amd64.deb" Version)" "the deb's version" || return
  same arm64 "$(dpkg-deb -f "$dist/${name}_${version}_linux_arm64.deb" Architecture)" "the other deb's architecture" || return
  tar -xzOf "$dist/${name}_${version}_linux_amd64.apk" .PKGINFO 2>/dev/null | grep -q "^pkgver = $version" || return
  tar --zstd -xOf "$dist/${name}_${version}_linux_amd64.pkg.tar.zst" .PKGINFO | grep -q "^pkgver = $version-1"
}

manual() {
  local said
  said=$(man --warnings -l "$work/root-deb/usr/share/man/man1/$name.1" 2>&1 >"$work/page") || return
  same "" "$said" "what man complains of" && grep -q -- --stdio "$work/page"
}

cask() { ruby "$here/cask.rb" "$dist/homebrew/Casks/$name.rb" "$version" "$dist/checksums.txt"; }

# bundle: the validator of its makers takes it, and it answers where it was
# unpacked, from another folder.
bundle() {
  local file=$src/bin/${name}_$version.mcpb dir=$work/bundle
  cd "$work/validators" && npx --no-install mcpb unpack "$file" "$dir" && npx --no-install mcpb validate "$dir/manifest.json" || return
  same "$version 0.3 binary" "$(json "$dir/manifest.json" 'd.version + " " + d.manifest_version + " " + d.server.type')" "the manifest" || return
  same "answer answer_detailed answer_quick" "$(json "$dir/manifest.json" 'd.tools.map((t) => t.name).join(" ")')" "its tools" || return
  same "true true" "$(json "$dir/manifest.json" 'd.user_config.openai_api_key.sensitive + " " + d.user_config.openai_api_key.required')" "the key" || return
  cmp "$linux" "$dir/server/linux/$name-amd64" || return
  # Every command of the manifest is a file of the bundle that may be run.
  # shellcheck disable=SC2016
  json "$dir/manifest.json" '[d.server.mcp_config, ...Object.values(d.server.mcp_config.platform_overrides)].map((c) => c.command.replace("${__dirname}/", "")).join("\n")' >"$work/commands" || return
  while read -r f; do
    [ -x "$dir/$f" ] || {
      echo "$f cannot be run"
      return 1
    }
  done <"$work/commands"
  answers "$dir/server/linux/$name" && say "$(mb "$file")"
}

# entry: server.json as release.yml completes it fits the registry's schema.
entry() {
  local schema
  go run ./packaging/registry -sums dist/checksums.txt >"$work/entry.json" || return
  schema=$(go mod download -json "github.com/modelcontextprotocol/registry@$REGISTRY" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')/internal/validators/schemas/2025-12-11.json || return
  (cd "$work/validators" && node entry.mjs "$work/entry.json" "$schema" "$src/bin/${name}_$version.mcpb")
}

layout() { cd npm && npm ci && npm run packages -- --dist ../dist --out ../bin/packages; }

# lockfiles name no address of a registry, nor will the next ones.
lockfiles() {
  local f n=0
  ! git grep -l '"resolved": ' -- '*package-lock.json' || return
  for f in $(git ls-files '*package-lock.json'); do
    grep -qx 'omit-lockfile-registry-resolved=true' "${f%/*}/.npmrc" || return
    n=$((n + 1))
  done
  say "$n files"
}

packages_proofs() {
  local f
  for f in deb rpm apk pkg.tar.zst; do
    proof "the $f, unpacked, answers" installed "$dist/${name}_${version}_linux_amd64.$f"
  done
  proof "the packages' own versions" meta
  proof "the manual page" manual
  proof "the cask" cask
  proof "the bundle for Claude Desktop" in_subshell bundle
  proof "the entry of the MCP registry" entry
  proof "npm packages laid out" in_subshell layout
  proof "lock files name no address" lockfiles
  proof "a registry on loopback" in_subshell registry_tools
  proof "the launcher's own tests" in_subshell launcher # they run on the second Node too, which is there now
  proofs node npm/test/registry/run.mjs bin/packages
}

registry_tools() { cd npm/test/registry && bounded npm ci --ignore-scripts --no-audit --no-fund; }

launcher() {
  cd npm || return
  if ! bounded npm test >"$work/launcher"; then
    cat "$work/launcher"
    return 1
  fi
  say "$(sed -n 's/^.* pass \([0-9]*\)$/\1/p' "$work/launcher") passed, $(sed -n 's/^.* skipped \([0-9]*\)$/\1/p' "$work/launcher") skipped"
}
