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
for name in page list compare comparetraces captures collector fleet deployment worker charts; do
  entries+=("$src/$name.ts")
done
go tool esbuild "${entries[@]}" --bundle --minify --format=esm --target=es2022 --legal-comments=eof \
  --alias:wasm_exec="$(go env GOROOT)/lib/wasm/wasm_exec.js" --log-level=warning --outdir="$out"
go tool esbuild web/static/css/app.css --bundle --minify --log-level=warning --outdir="$out"
cp web/static/icon.svg "$out/"

# What Go's compiler makes of loops costs a third of the speed: the functions that see every event or every row are given
# back their structure. Those that calls can be resumed in grow the module, so only they are taken.
hot=(hashBytes skip scanString shortString valueText fast arg eachArg covered union
  __Reader_.{parse,arg,fast,readArray,readGPUArgs,readCollective,accept,run,Commit} __Push_.Commit __names_.{scan,raw,lookup}
  __tracks_.index __categories_.index __flows_.{add,run} __memo_ __layoutStep_ __Partial_.{addRow,addCollective} __work_.add __finder_
  __analysis_.{link,workOf,sortRows})
GOOS=js GOARCH=wasm go build -trimpath -ldflags=-w -o bin/trace.wasm ./wasm
go run ./wasm/structure bin/trace.wasm "$out/trace.wasm" \
  "${hot[@]/#/github.com_stepscope_stepscope_engine_trace.}" github.com_stepscope_stepscope_engine_trace_gunzip \
  slices.{pdqsort,partition,insertionSort}Ordered
rm bin/trace.wasm

node scripts/assets.mjs "$out" web/static/dist
