#!/usr/bin/env bash
# Builds a Go tool at a pinned version into the project's tool cache, outside the
# repository and its go.mod, and prints the executable's path. Does nothing when
# it is there. Usage: install-tool.sh PACKAGE VERSION
set -euo pipefail

package=$1 version=$2
name=$(basename "$package")
bin=${XDG_CACHE_HOME:-$HOME/.cache}/coxswain-tools/bin/$name@$version-$(go env GOVERSION)
if [ ! -x "$bin/$name" ]; then
  echo "building $name $version (once per version)" >&2
  mkdir -p "$bin"
  (cd / && GOFLAGS= GOBIN="$bin" go install "$package@$version") >&2
fi
printf '%s\n' "$bin/$name"
