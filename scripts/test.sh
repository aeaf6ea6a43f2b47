#!/usr/bin/env bash
# Runs every test: all packages under the race detector, but for cmd/cox-temporal,
# which embeds the Temporal server, and for the scripts of command lines, which start
# the test program hundreds of times and would pay for the detector at each start.
# Tests find the built executables by COX_BIN and COX_TEMPORAL_BIN. Arguments go to
# go test.
set -euo pipefail
cd "$(dirname "$0")/.."

export COX_BIN=${COX_BIN:-$PWD/bin/cox} COX_TEMPORAL_BIN=${COX_TEMPORAL_BIN:-$PWD/bin/cox-temporal}
timeout=${TEST_TIMEOUT:-30m}

all=$(go list ./...)
server=$(grep -E '/cmd/cox-temporal(/|$)' <<<"$all" || true)
others=$(grep -vE '/cmd/cox-temporal(/|$)' <<<"$all")

status=0
echo "== go test -race: $(wc -l <<<"$others") packages"
# shellcheck disable=SC2086 # one word per package
go test -race -shuffle=on -timeout "$timeout" -skip '^TestScripts$' "$@" $others || status=1
echo "== go test: the scripts of command lines"
go test -timeout "$timeout" -run '^TestScripts$' "$@" ./cmd/internal/cli || status=1
if [ -n "$server" ]; then
  echo "== go test: the Temporal server"
  # The flags of the build, so that the server is compiled once.
  # shellcheck disable=SC2086
  CGO_ENABLED=0 go test -trimpath -shuffle=on -timeout "$timeout" "$@" $server || status=1
fi
exit $status
