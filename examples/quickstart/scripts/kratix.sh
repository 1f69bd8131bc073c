# Sourced by the scripts beside it: where a pipeline finds its input and leaves its results.
# shellcheck shell=sh disable=SC2034

# Elsewhere only if pipelines run without namespaces of their own.
kratix=${MILLRACE_KRATIX_DIR:-/kratix}
object=$kratix/input/object.yaml
output=$kratix/output
metadata=$kratix/metadata

name=$KRATIX_OBJECT_NAME
namespace=$KRATIX_OBJECT_NAMESPACE

# field PATH: a scalar of the object, such as spec.size. Reads block mappings with two blanks per level, as object.yaml has
# them; a pipeline with more to read brings a YAML tool in its image.
field() {
    awk -v wanted="$1" '
        /^ *[A-Za-z]+:/ {
            depth = (match($0, /[^ ]/) - 1) / 2
            key[depth] = substr($0, RSTART, index($0, ":") - RSTART)
            path = key[0]
            for (level = 1; level <= depth; level++) path = path "." key[level]
            if (path != wanted) next
            sub(/^ *[A-Za-z]+: */, "")
            gsub(/^["\047]|["\047]$/, "")
            print
            exit
        }' "$object"
}

# has PATH: whether the object has such a scalar.
has() { [ -n "$(field "$1")" ]; }
