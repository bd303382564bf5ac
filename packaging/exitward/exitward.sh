#!/bin/sh
# Runs Exitward's command line by the Node of its package, with the settings of /etc/exitward/exitward.env.
# A variable of the environment comes before the file's; who may not read the file goes without it.
set -eu
home=/usr/lib/exitward
settings=/etc/exitward/exitward.env
#include settings.sh

as=
case "${1-}" in
  # Root would leave files in the data folder that the service cannot open.
  serve | migrate | backup | restore | keys | operator-token | doctor)
    [ "$(id -u)" -ne 0 ] || as="setpriv --reuid=exitward --regid=exitward --init-groups --inh-caps=-all --" ;;
esac
exec $as "$home/bin/node" --use-system-ca --max-semi-space-size=8 "$home/server/bin/exitward.js" "$@"
