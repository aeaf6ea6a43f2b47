#!/usr/bin/env bash
# Shows that rules are held by their tests: deletes one rule at a time from a copy of
# the source, by a patch of testdata/mutations, and runs the tests that the patch
# names. They have to pass with the rule and to fail without it. Fails when a patch
# no longer applies, when a rule is not missed, or when the copy does not compile.
# Arguments are the patches; without any, all of them.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

patches=("$@")
[ ${#patches[@]} -gt 0 ] || patches=(testdata/mutations/*.patch)
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ -e "$f" ] && printf "%s\0" "$f"; done' sh |
  tar --null --files-from=- -cf - | tar -xf - -C "$copy" || exit 1
# A repository of its own, so that git apply looks at no other one; its index keeps the rules.
git -C "$copy" init --quiet && git -C "$copy" add --all || exit 1

# field NAME PATCH prints a line of the patch's head.
field() { sed -n "s/^$1: //p;/^diff /q" "$2"; }

# tests PATCH runs the tests that the patch names, in the copy.
tests() { (cd "$copy" && go test -count=1 -vet=off -run "$(field run "$1")" "$(field package "$1")" 2>&1); }

failed=0
complain() {
  failed=$((failed + 1))
  printf 'WRONG  %s: %s\n' "$1" "$2"
}

for patch in "${patches[@]}"; do
  patch=$PWD/${patch#"$PWD"/}
  name=$(basename "$patch" .patch)
  begin=$SECONDS
  output=$(tests "$patch")
  if [ $? -ne 0 ] || grep -q 'no tests to run' <<<"$output"; then
    complain "$name" "its tests do not pass with the rule"
    printf '%s\n' "$output" | tail -20
    continue
  fi
  if ! (cd "$copy" && git apply "$patch"); then
    complain "$name" "the patch no longer applies"
    continue
  fi
  output=$(tests "$patch")
  status=$?
  git -C "$copy" checkout --quiet -- . || exit 1
  if [ $status -eq 0 ]; then
    complain "$name" "the rule can be deleted unnoticed: $(field rule "$patch")"
  elif ! grep -q -- '--- FAIL' <<<"$output"; then
    complain "$name" "the tests did not run without the rule"
    printf '%s\n' "$output" | tail -20
  else
    printf 'held   %-20s %3d s  %s\n' "$name" $((SECONDS - begin)) "$(field rule "$patch")"
  fi
done

if [ $failed -gt 0 ]; then
  echo "$failed of ${#patches[@]} went wrong"
  exit 1
fi
echo "all ${#patches[@]} rules are held by their tests"
