#!/bin/sh
# Usage: bench.sh [REQUESTS]
# The main job on the real programs: services by themselves first (benches/main_job.rs), then `millrace up` with 100 requests
# of a Promise with two pipelines, from nothing to all files in the repository, and with the second pipeline taken out of the
# Promise. Builds in release mode (minutes), then takes a minute or two. See docs/benchmarks.md.
set -eu
. "$(dirname -- "$0")/lib.sh"

requests=${1:-100}
"$root/tools/check.sh" isolation
cd "$root"
say "bench: building in release mode, minutes the first time"
cargo build --quiet --release --workspace
cargo bench --quiet --package tests --bench main_job
millrace=${CARGO_TARGET_DIR:-target}/release/millrace

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work/manifests"

# pipeline NAME: one that writes a file of 330 bytes, another for each request.
pipeline() {
    cat <<EOF
        - apiVersion: platform.kratix.io/v1alpha1
          kind: Pipeline
          metadata: {name: $1}
          spec:
            containers:
              - name: write
                image: host
                command: [sh, -c, 'printf "# %328s" "\$KRATIX_OBJECT_NAME" >/kratix/output/file.yaml']
EOF
}

# promise PIPELINE...
promise() {
    cat <<EOF
apiVersion: platform.kratix.io/v1alpha1
kind: Promise
metadata: {name: bench}
spec:
  api:
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: samples.bench.example}
    spec:
      group: bench.example
      scope: Namespaced
      names: {kind: Sample, plural: samples, singular: sample}
      versions:
        - name: v1
          served: true
          storage: true
          schema:
            openAPIV3Schema:
              type: object
              properties: {spec: {type: object}}
  workflows:
    resource:
      configure:
EOF
    for name in "$@"; do pipeline "$name"; done
}

cat >"$work/manifests/destination.yaml" <<EOF
apiVersion: platform.kratix.io/v1alpha1
kind: GitStateStore
metadata: {name: store}
spec: {url: "file://$work/store.git"}
---
apiVersion: platform.kratix.io/v1alpha1
kind: Destination
metadata: {name: cluster}
spec:
  path: cluster
  stateStoreRef: {kind: GitStateStore, name: store}
EOF
for number in $(seq "$requests"); do
    printf -- '---\napiVersion: bench.example/v1\nkind: Sample\nmetadata: {name: sample-%d}\nspec: {}\n' "$number"
done >"$work/manifests/requests.yaml"

# measure WHAT FILES: runs until all is done; FILES must stand in the repository then.
measure() {
    began=$(date +%s%N)
    "$millrace" --state "$work/state" up "$work/manifests" --until-settled --timeout 10m >"$work/log" 2>&1 || {
        tail -n 20 "$work/log" >&2
        fail "millrace did not get done" "what it said stands above"
    }
    took=$((($(date +%s%N) - began) / 1000000))
    files=$(git --git-dir "$work/store.git" ls-tree -r --name-only main | grep -c '/bench/' || true)
    [ "$files" -eq "$2" ] || fail "there are $files files, and $2 are expected" "this is a defect: please report it"
    commits=$(git --git-dir "$work/store.git" rev-list --count main)
    printf '%-44s %6d ms %6d files %5d commits\n' "$1" "$took" "$files" "$commits"
}

promise first second >"$work/manifests/promise.yaml"
measure "$requests requests x 2 pipelines, from nothing" $((2 * requests))
promise first >"$work/manifests/promise.yaml"
measure "the second pipeline removed" "$requests"
