# shellcheck shell=bash disable=SC2154,SC2034
# What the proofs are written with.

passed=0
failed=0
log=$work/log
LIMIT=30m # for one proof

# proof NAME COMMAND...: runs the command and prints one line.
proof() {
  local title=$1 begin=$SECONDS
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok    $title$(note) ($((SECONDS - begin))s)"
  else
    failed=$((failed + 1))
    echo "FAIL  $title ($((SECONDS - begin))s)"
    tail -n 60 "$log" | sed 's/^/      /'
  fi
  rm -f "$work/note"
}

# say TEXT: is added to the line of the proof that runs.
say() { printf '%s' "$*" >"$work/note"; }
note() { [ ! -s "$work/note" ] || printf ': %s' "$(<"$work/note")"; }

# proofs COMMAND...: a program that prints such lines itself, and the count.
proofs() {
  local all=$work/proofs code count ok bad
  bounded "$@" >"$all" 2>&1
  code=$?
  count=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$all" | tail -n 1)
  read -r ok bad <<<"${count:-0 0}"
  grep -E '^(ok    |FAIL  |skip  |      )' "$all"
  if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then
    bad=1
    echo "FAIL  $* (exit $code)"
    tail -n 60 "$all" | sed 's/^/      /'
  fi
  passed=$((passed + ok))
  failed=$((failed + bad))
}

bounded() { timeout -k 10 "$LIMIT" "$@"; }

# same WANT GOT WHAT: two texts are one.
same() {
  [ "$1" = "$2" ] || {
    printf '%s is\n%s\nwant\n%s\n' "$3" "$2" "$1"
    return 1
  }
}

# below LIMIT FILE WHAT: a file is smaller than that many bytes.
below() {
  local bytes
  bytes=$(wc -c <"$2") || return
  [ "$bytes" -lt "$1" ] || {
    echo "$3 has $bytes bytes, less than $1 wanted"
    return 1
  }
}

# answers COMMAND...: it speaks MCP, has this version, and answers a call
# offline.
answers() { "$work/bin/talk" -version "$version" -- "$@" --stdio --offline; }

# mb FILE: its size as people say it.
mb() { wc -c <"$1" | awk '{ printf "%.1f MB", $1 / 1000000 }'; }

# json FILE EXPRESSION: a value of a document, d.
json() { node -e 'const d = JSON.parse(fs.readFileSync(process.argv[1])); console.log(eval(process.argv[2]))' "$@"; }
