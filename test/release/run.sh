#!/usr/bin/env bash
# Tries everything of a release that can be tried without publishing it and
# without a container engine:
#
#     bash test/release/run.sh
#
# It needs Linux with Go, Node 20, npm and git; the other tools it builds once
# into the user's cache folder or takes from the system's packages (as root).
# One line a proof; a proof that fails prints what it printed, and the rest
# still runs. The last line counts. The repository is left as it is: all
# happens in a copy of its files, committed or not, below a temporary folder.
# shellcheck disable=SC2034,SC2154 # used and set in the parts
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
exec </dev/null
repo=$PWD
here=$repo/test/release

# A developer's key or settings have no part in what follows, nor what npm or a
# network of theirs hands down.
unset OPENAI_API_KEY OPENAI_BASE_URL OPENAI_ORG_ID OPENAI_PROJECT_ID
unset MODEL_ANSWER MODEL_DETAILED MODEL_QUICK ANSWER_EFFORT ANSWER_VERBOSITY DEBUG MCP_LINE_MODE
unset OPENAI_RESPONSES_MCP_BINARY OPENAI_RESPONSES_MCP_PARENT
unset GITHUB_TOKEN GITHUB_REF GITHUB_REF_NAME GORELEASER_CURRENT_TAG RELEASE_IS_PUBLISHED HOMEBREW_TAP_TOKEN

work=$(mktemp -d)
src=$work/a # the copy, and what goreleaser and npm make of it
dist=$src/dist
version=$(node -p 'JSON.parse(fs.readFileSync("npm/package.json")).version') || exit 1
name=openai-responses-mcp

for part in lib tools build packages publish image; do
  # shellcheck source=/dev/null
  . "$here/$part.sh"
done
trap 'image_clean; chmod -R u+w "$work"; rm -rf "$work"' EXIT

tools_here
build_proofs
packages_proofs
publish_proofs
image_proofs

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
