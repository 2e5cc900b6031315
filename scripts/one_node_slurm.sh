#!/usr/bin/env bash
# A real Slurm cluster of one node, this machine, for trying make CLUSTER=slurm. The daemons run as the caller, on free
# ports; all their files are in one folder.
#
#   scripts/one_node_slurm.sh install             Debian's or Ubuntu's packages slurm-wlm and munge (as root)
#   scripts/one_node_slurm.sh start FOLDER        then: source FOLDER/environment
#   scripts/one_node_slurm.sh stop FOLDER         ends its jobs and what start began; the logs stay
#
# The node says that it has one GPU (a file that is always there), so jobs that ask for one run; they compute on the CPU.
set -euo pipefail
export PATH=$PATH:/usr/sbin

fail() { echo "$1" >&2; exit 2; }

install() {
    [[ $(id -u) == 0 ]] || fail "packages can only be installed as root: sudo $0 install"
    command -v apt-get > /dev/null || fail "apt-get is not here: install Slurm and MUNGE with this system's own packages"
    apt-get update -qq
    # The packages would start daemons for the whole machine; a policy of 101 forbids it while they are installed.
    local policy=/usr/sbin/policy-rc.d
    [[ -e $policy ]] || { printf '#!/bin/sh\nexit 101\n' > $policy; chmod +x $policy; trap "rm -f $policy" EXIT; }
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends slurm-wlm munge
}

settings() {  # FOLDER USER PORT
    cat << END
ClusterName=one-node
SlurmctldHost=localhost
SlurmctldPort=$3
SlurmdPort=$(($3 + 1))
SlurmUser=$2
SlurmdUser=$2
AuthType=auth/munge
AuthInfo=socket=$1/munge.socket
CredType=cred/munge
StateSaveLocation=$1/state
SlurmdSpoolDir=$1/spool
SlurmctldPidFile=$1/slurmctld.pid
SlurmdPidFile=$1/slurmd.pid
SlurmctldLogFile=$1/slurmctld.log
SlurmdLogFile=$1/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
GresTypes=gpu
NodeName=localhost CPUs=$(getconf _NPROCESSORS_ONLN) RealMemory=64000 Gres=gpu:1
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
}

start() {  # FOLDER
    local program
    for program in mungekey munged slurmctld slurmd sbatch; do
        command -v $program > /dev/null || fail "$program is not here: scripts/one_node_slurm.sh install"
    done
    mkdir -p "$1/state" "$1/spool" "$1/bin"
    settings "$1" "$(id -un)" "$(shuf -i 20000-30000 -n 1)" > "$1/slurm.conf"
    echo "NodeName=localhost Name=gpu File=/dev/null" > "$1/gres.conf"
    # Snakemake's job step takes SLURM_* out of the environment before it calls srun, so that srun gets it here.
    printf '#!/bin/sh\nSLURM_CONF="%s" exec "%s" "$@"\n' "$1/slurm.conf" "$(command -v srun)" > "$1/bin/srun"
    chmod +x "$1/bin/srun"
    printf 'export SLURM_CONF="%s" PATH="%s:$PATH"\n' "$1/slurm.conf" "$1/bin" > "$1/environment"
    export SLURM_CONF=$1/slurm.conf
    [[ -e $1/munge.key ]] || mungekey --create --keyfile "$1/munge.key"
    munged --force --socket="$1/munge.socket" --key-file="$1/munge.key" --log-file="$1/munged.log" \
        --pid-file="$1/munged.pid" --seed-file="$1/munged.seed" 2> "$1/munged.warnings"
    slurmctld
    slurmd -N localhost
    for _ in {1..60}; do
        [[ $(sinfo --noheader --format %T 2> /dev/null) == idle ]] && return
        sleep 0.5
    done
    stop "$1"
    fail "the node did not come up in 30 seconds; see $1/slurmctld.log and $1/slurmd.log"
}

stop() {  # FOLDER
    local daemon
    SLURM_CONF=$1/slurm.conf scancel --user "$(id -un)" --quiet || true
    for daemon in slurmd slurmctld munged; do
        [[ ! -e $1/$daemon.pid ]] || kill "$(< "$1/$daemon.pid")" || true
    done
}

case "${1-} $#" in
    "install 1") install ;;
    "start 2" | "stop 2") "$1" "$(realpath "$2")" ;;
    *) fail "usage: $0 install | start FOLDER | stop FOLDER" ;;
esac
