#!/bin/sh
# Runs the agent's command line by the Node of its package, with the settings of /etc/exitward/agent.env.
# A variable of the environment comes before the file's.
set -eu
home=/usr/lib/exitward-agent
settings=/etc/exitward/agent.env
named="${EXITWARD_AGENT_STATE_DIR-}"
remedy="Run it as root: sudo exitward-agent …; or set EXITWARD_AGENT_STATE_DIR."
#include settings.sh

exec "$home/bin/node" --use-system-ca --max-semi-space-size=8 "$home/agent/bin/exitward-agent.js" "$@"
