#!/usr/bin/env bash
# Fails when a committed *_templ.go differs from what its .templ file gives now.
set -euo pipefail
cd "$(dirname "$0")/.."

stale=0
while IFS= read -r file; do
  want="${file%.templ}_templ.go"
  if ! go tool templ generate -f "$file" -stdout 2>/dev/null | cmp -s - "$want"; then
    echo "check-generated: $want is not what $file gives: run make generate and commit it" >&2
    stale=1
  fi
done < <(find views -name '*.templ' | sort)
exit "$stale"
