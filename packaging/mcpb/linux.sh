#!/bin/sh
# Runs the binary for the processor of this machine.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
case $(uname -m) in
x86_64 | amd64) cpu=amd64 ;;
aarch64 | arm64) cpu=arm64 ;;
*)
  echo "openai-responses-mcp: error: no build for $(uname -m)" >&2
  echo "openai-responses-mcp: hint: go install github.com/uchimanajet7/openai-responses-mcp/cmd/openai-responses-mcp@latest" >&2
  exit 1
  ;;
esac
exec "$here/openai-responses-mcp-$cpu" "$@"
