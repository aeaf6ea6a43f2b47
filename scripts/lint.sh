#!/usr/bin/env bash
# Runs every check of the source. All of them run, also after one has failed.
# Versions come from the Makefile.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

failed=()
check() {
  local name=$1
  shift
  echo "== $name"
  "$@" || failed+=("$name")
}

api_version() {
  local found
  found=$(go list -m -f '{{.Version}}' go.temporal.io/api) || return 1
  [ "$found" = "$TEMPORAL_API" ] && return
  echo "go.temporal.io/api is $found; the embedded server is written against $TEMPORAL_API" >&2
  return 1
}

formatted() {
  local bin unformatted
  bin=$(scripts/install-tool.sh mvdan.cc/gofumpt "$GOFUMPT") || return 1
  unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 -r sh -c 'for f; do [ -e "$f" ] && printf "%s\0" "$f"; done' sh | xargs -0 -r "$bin" -l) || return 1
  [ -z "$unformatted" ] && return
  printf 'not formatted (run make fmt):\n%s\n' "$unformatted" >&2
  return 1
}

linters() {
  local bin
  bin=$(scripts/install-tool.sh github.com/golangci/golangci-lint/v2/cmd/golangci-lint "$GOLANGCI_LINT") || return 1
  "$bin" run --timeout 40m ./...
}

deterministic() {
  local bin
  bin=$(scripts/install-tool.sh go.temporal.io/sdk/contrib/tools/workflowcheck "$WORKFLOWCHECK") || return 1
  "$bin" -show-pos ./workflows/...
}

compose() {
  local tool
  if command -v docker-compose >/dev/null; then
    tool=(docker-compose)
  elif docker compose version >/dev/null 2>&1; then
    tool=(docker compose)
  elif [ "${CI:-}" = true ]; then
    echo "docker-compose is missing" >&2
    return 1
  else
    echo "skipped: docker-compose is not installed"
    return 0
  fi
  COX_POSTGRES_PASSWORD=check TEMPORAL_POSTGRES_PASSWORD=check "${tool[@]}" -f docker-compose.yml config -q
}

# The rules that make mutate deletes are still where its patches look for them.
mutations() {
  local patch
  for patch in testdata/mutations/*.patch; do
    git apply --check "$patch" || return 1
  done
}

shell_scripts() {
  local script
  for script in scripts/*.sh .ci/run; do
    bash -n "$script" || return 1
  done
}

check "api version" api_version
check "go mod tidy" go mod tidy -diff
check "gofumpt" formatted
check "golangci-lint" linters
check "workflowcheck" deterministic
check "docker-compose" compose
check "mutations" mutations
check "shell scripts" shell_scripts

if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed:'
  printf ' [%s]' "${failed[@]}"
  echo
  exit 1
fi
echo "all checks passed"
