#!/usr/bin/env bash
# Installs the Codex that the tests are proved with, from npm, into the project's
# cache. Does nothing when it is there. Usage: install-codex.sh [--check]
#   --check  install nothing; say where it is, or exit with 1
# COX_CODEX_BIN, when set, names another one and is only checked.
set -euo pipefail

version=0.171.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/coxswain-codex

find_codex() {
  if [ -n "${COX_CODEX_BIN:-}" ]; then
    printf '%s\n' "$COX_CODEX_BIN"
    return
  fi
  local candidate
  for candidate in "$cache"/node_modules/@openai/codex-*/vendor/*/bin/codex; do
    if [ -x "$candidate" ]; then
      printf '%s\n' "$candidate"
      return
    fi
  done
}

is_pinned() {
  [ -n "$1" ] && [ "$("$1" --version 2>/dev/null)" = "codex-cli $version" ]
}

codex=$(find_codex)
if is_pinned "$codex"; then
  printf '%s\n' "$codex"
  exit 0
fi
if [ "${1:-}" = --check ] || [ -n "${COX_CODEX_BIN:-}" ]; then
  echo "Codex $version is not at hand${codex:+ ($codex is another one)}: run scripts/install-codex.sh, or set COX_CODEX_BIN" >&2
  exit 1
fi
mkdir -p "$cache"
npm install --prefix "$cache" --save-exact --no-audit --no-fund --loglevel=error "@openai/codex@$version" >&2
codex=$(find_codex)
if ! is_pinned "$codex"; then
  echo "npm installed no Codex $version for this platform into $cache" >&2
  exit 1
fi
printf '%s\n' "$codex"
