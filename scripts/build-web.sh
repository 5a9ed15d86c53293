#!/usr/bin/env bash
# Builds the browser's part into web/static/dist, where the server embeds it:
# TypeScript and CSS through esbuild, the reader through Go's WebAssembly target.
set -euo pipefail
cd "$(dirname "$0")/.."

need() {
  command -v "$1" >/dev/null || { echo "build-web: $1 is missing: $2" >&2; exit 1; }
}
need go "install Go 1.26 or later, https://go.dev/dl/"
need node "install Node.js 20 or later, https://nodejs.org/"
need npm "it comes with Node.js"

# npm ci starts from an empty folder; skip it while the lock file is the one installed.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci
  touch node_modules/.package-lock.json
fi

out=bin/web
rm -rf "$out"
mkdir -p "$out"

src=web/static/src
entries=()
for name in page compare comparetraces captures collector fleet deployment worker charts; do
  entries+=("$src/$name.ts")
done
go tool esbuild "${entries[@]}" --bundle --minify --format=esm --target=es2022 --legal-comments=eof \
  --alias:wasm_exec="$(go env GOROOT)/lib/wasm/wasm_exec.js" --log-level=warning --outdir="$out"
go tool esbuild web/static/css/app.css --bundle --minify --log-level=warning --outdir="$out"
cp web/static/icon.svg "$out/"
GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o "$out/trace.wasm" ./wasm

node scripts/assets.mjs "$out" web/static/dist
