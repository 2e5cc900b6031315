#!/usr/bin/env bash
# Trains the models, runs the notebooks and packs the results, on a host that has torch but no network.
#
#   ./run.sh               everything; what is done stays, so a killed run goes on where it was
#   ./run.sh '02-|04a-'    only the commands that this regular expression finds, then packs what is there
#   ./run.sh --list        prints the commands
#
#   PYTHON=python3         the Python that has torch and torchvision
#   DEVICE=cpu             computes without a GPU; unasked that is refused
#   WEIGHTS=1              puts the trained weights into the archive as well
#   PCGRAPH_DATA=FOLDER    adds data sets that are too large to come along, such as CIFAR10
set -euo pipefail
[[ -z ${PCGRAPH_DATA:-} ]] || export PCGRAPH_DATA=$(realpath "$PCGRAPH_DATA")
cd "$(dirname "${BASH_SOURCE[0]}")"
PYTHON=${PYTHON:-python3}
export PYTHONPATH=$PWD/packages:$PWD/code${PYTHONPATH:+:$PYTHONPATH} PCGRAPH_CACHE=$PWD/data DEVICE=${DEVICE:-cuda}
[[ $DEVICE == cuda ]] || export CUDA_VISIBLE_DEVICES=        # then every command's device "auto" is the CPU
only=${1:-}
failed=()

pcgraph() { "$PYTHON" -m pcgraph_lite "$@"; }

step() {                                                     # one that fails does not stop the others
    [[ $* =~ $only ]] || return 0
    echo "--- $*"
    "$@" || failed+=("$*")
}

if [[ $only == --list ]]; then
    sed -n 's/^step //p' run.sh
    exit
fi
trap 'exit 130' INT
"$PYTHON" set_up.py
pcgraph info --profile @PROFILE@

@STEPS@

pcgraph export --profile @PROFILE@ ${WEIGHTS:+--weights} || failed+=("pcgraph export")
if ((${#failed[@]})); then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
