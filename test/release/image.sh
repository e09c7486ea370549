# shellcheck shell=bash disable=SC2154,SC2034
# The image, built and run by buildah without an engine and without a daemon.
# FROM scratch needs no registry. The golang image of the other way of the
# Dockerfile is not to be had without one: a stand-in takes its place, a shell
# around this machine's own Go.

MAX_BYTES=16000000

b() { buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run" "$@"; }

# inside FLAGS... -- COMMAND...: runs it in a new container of the image.
inside() { b run --isolation chroot "$@"; }

# container IMAGE: makes one, and prints its name.
container() { b from --pull-never "localhost/$1"; }

# context DIR: as goreleaser lays it out for docker.
context() {
  mkdir -p "$1/linux/amd64" "$1/linux/arm64" && cp "$src/Dockerfile" "$1" &&
    cp "$dist"/binary_linux_amd64*/"$name" "$1/linux/amd64/" &&
    cp "$dist"/binary_linux_arm64*/"$name" "$1/linux/arm64/"
}

# prebuilt CPU: the way of the release.
prebuilt() {
  local root config
  b bud -q --isolation chroot --platform "linux/$1" --build-arg SOURCE=prebuilt -t "localhost/$1" "$work/context" || return
  b inspect --type image "localhost/$1" >"$work/image.json" || return
  config='[d.OCIv1.architecture, d.OCIv1.rootfs.diff_ids.length, c.User, c.Entrypoint, c.Cmd, c.Labels["org.opencontainers.image.version"], c.Labels["io.modelcontextprotocol.server.name"]].join(" ")'
  same "$1 1 65532:65532 /$name --stdio $version io.github.uchimanajet7/$name" \
    "$(json "$work/image.json" "const c = d.OCIv1.config; $config")" "the image (architecture, layers, user, command, labels)" || return
  root=$(b mount "$(container "$1")") || return
  same "/$name" "$(cd "$root" && find . -type f -o -type l | sed 's/^\.//')" "what is in the image" || return
  cmp "$dist"/binary_linux_"$1"*/"$name" "$root/$name" && below "$MAX_BYTES" "$root/$name" "the image" || return
  say "$(mb "$root/$name"), one layer"
}

# as: nobody in particular, and not root.
as() {
  local c
  mkdir -p "$work/busybox" && cp "$(command -v busybox)" "$work/busybox/" && c=$(container amd64) || return
  same "uid=65532 gid=65532" "$(inside -v "$work/busybox:/busybox:ro" "$c" -- /busybox/busybox id | sed 's/([^)]*)//g; s/ groups=.*//')" "the user"
}

# speaks: over run -i, and ends with its input; with a configuration too.
speaks() {
  local c
  c=$(container amd64) && same "$version" "$(inside "$c" -- "/$name" --version)" "--version" || return
  "$work/bin/talk" -version "$version" -- buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run" \
    run --isolation chroot "$c" -- "/$name" --stdio --offline || return
  mkdir -p "$work/config" && cp config/config.yaml.example "$work/config/config.yaml" || return
  inside -v "$work/config:/config:ro" "$c" -- "/$name" --show-config --config /config/config.yaml 2>"$work/shown.json" || return
  same /config/config.yaml "$(json "$work/shown.json" d.sources.yaml)" "where the configuration comes from"
}

# public: in the image a handshake verifies a certificate of a public root, with
# the roots in the binary. The test of internal/llm says how far it can go.
public() {
  local c out
  mkdir -p "$work/llm" && CGO_ENABLED=0 go test -c -o "$work/llm/llm.test" ./internal/llm && c=$(container amd64) || return
  out=$(inside -v "$work/llm:/llm:ro" "$c" -- /llm/llm.test -test.run '^TestPublicRoot$' -test.v) || { echo "$out"; return 1; }
  echo "$out" | grep -- '--- PASS: TestPublicRoot'
}

# private: the image's own binary over TLS, with a root that a file names, and
# refused without it.
private() {
  local c url run
  c=$(container amd64) && mkdir -p "$work/ca" || return
  coproc API { exec "$work/bin/tlsapi" "$work/ca/ca.pem"; }
  local stdin=${API[1]} pid=$API_PID
  read -r -t 20 url <&"${API[0]}" || return
  run=(buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run" run --isolation chroot
    -v "$work/ca:/ca:ro" --env OPENAI_API_KEY=test --env "OPENAI_BASE_URL=$url")
  "$work/bin/talk" -version "$version" -model gpt-5.2 -- "${run[@]}" --env SSL_CERT_FILE=/ca/ca.pem "$c" -- "/$name" --stdio &&
    "$work/bin/talk" -version "$version" -refused SSL_CERT_FILE -- "${run[@]}" "$c" -- "/$name" --stdio
  local code=$?
  exec {stdin}>&-
  wait "$pid"
  return "$code"
}

# compiled: the other way of the Dockerfile makes the very same binary.
compiled() {
  local root dir=$work/golang
  mkdir -p "$dir" && cp "$(command -v busybox)" "$dir/" && cat >"$dir/Dockerfile" <<'END' || return
FROM scratch
COPY busybox /bin/sh
RUN ["/bin/sh", "-c", "/bin/sh --install -s /bin 2>/dev/null; mkdir -m 1777 /tmp"]
ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOTOOLCHAIN=local HOME=/
END
  # The container finds the modules instead of fetching them: it knows no
  # certificate but its own, and a proxy on the way may have another.
  go -C "$src" mod download || return
  b bud -q --isolation chroot -t docker.io/library/golang:1.26.8 "$dir" || return
  b bud -q --isolation chroot --pull-never --platform linux/amd64 -v "$(go env GOROOT):/usr/local/go:ro" \
    -v "$(go env GOMODCACHE):/go/pkg/mod" -v "$(go env GOCACHE):/.cache/go-build" -t localhost/source "$src" || return
  root=$(b mount "$(container source)") && cmp "$linux" "$root/$name"
}

image_clean() {
  command -v buildah >/dev/null && [ -d "$work/storage" ] || return 0
  b rm --all >/dev/null 2>&1
}

image_proofs() {
  proof "a context for the image" context "$work/context"
  proof "the image for amd64" prebuilt amd64
  proof "the image for arm64" prebuilt arm64
  proof "the image runs as 65532" as
  proof "the image answers over run -i" speaks
  proof "the image trusts a public root" public
  proof "the image takes SSL_CERT_FILE" private
  proof "docker build . compiles the same binary" compiled
}
