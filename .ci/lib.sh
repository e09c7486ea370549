# shellcheck shell=bash
# Shared by .ci/run and .ci/release.
set -uo pipefail
exec </dev/null

# needs PROGRAM... ends the run where it cannot work: it takes Linux on amd64 with GNU tools.
needs() {
  local program missing=()
  for program; do command -v "$program" >/dev/null || missing+=("$program"); done
  [ "$(uname -sm)" = "Linux x86_64" ] || missing=("Linux on amd64")
  grep --version 2>/dev/null | grep -q GNU || missing+=("GNU grep")
  [ ${#missing[@]} -eq 0 ] && return
  echo "$0 needs ${missing[*]}; go test ./... runs everywhere" >&2
  exit 1
}

# A developer's key or settings must not turn a test into a real request.
unset OPENAI_API_KEY OPENAI_BASE_URL OPENAI_ORG_ID OPENAI_PROJECT_ID OPENAI_RESPONSES_MCP_BINARY
unset "${!MODEL_@}" ANSWER_EFFORT ANSWER_VERBOSITY DEBUG MCP_LINE_MODE

work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
passed=0
failed=0
skipped=0

# step TITLE COMMAND...: runs the command in a subshell with set -e and prints one
# line. A step that fails prints the end of its output; the run goes on.
step() {
  local title=$1 begin=$SECONDS code result=ok
  shift
  : >"$work/note"
  (
    set -e
    "$@"
  ) >"$work/log" 2>&1
  code=$?
  case $code in
  0) passed=$((passed + 1)) ;;
  77) skipped=$((skipped + 1)) result=skip ;;
  *) result=FAIL failed=$((failed + 1)) ;;
  esac
  printf '%-4s  %s (%ds)%s\n' "$result" "$title" $((SECONDS - begin)) "$(<"$work/note")"
  [ "$result" != FAIL ] || tail -n 400 "$work/log" | cut -c1-2000 | sed 's/^/      /'
}

# note TEXT is added to the line of the step.
note() { printf ': %s' "$*" >"$work/note"; }

# skip TEXT ends a step that cannot run here.
skip() {
  note "$@"
  exit 77
}

# summary prints the counts and returns the result of the run.
summary() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
