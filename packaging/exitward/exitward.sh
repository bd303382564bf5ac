#!/bin/sh
# Runs Exitward's command line by the Node of its package, with the settings of /etc/exitward/exitward.env.
# A variable of the environment comes before the file's.
set -eu
home=/usr/lib/exitward
settings=/etc/exitward/exitward.env
named="${EXITWARD_DATA_DIR-}"
remedy="Run it as root: sudo exitward …; or set EXITWARD_DATA_DIR, or for a server elsewhere EXITWARD_ADMIN_URL."
[ "$(id -un)" != exitward ] || remedy="Run: chown root:exitward $settings && chmod 0640 $settings"
as=
case "${1-}" in
  # Root would leave files in the data folder that the service cannot open.
  serve | migrate | backup | restore | keys | operator-token | doctor)
    [ "$(id -u)" -ne 0 ] || as="setpriv --reuid=exitward --regid=exitward --init-groups --inh-caps=-all --" ;;
  *) named="$named${EXITWARD_ADMIN_URL-}" ;;
esac
#include settings.sh

exec $as "$home/bin/node" --use-system-ca --max-semi-space-size=8 "$home/server/bin/exitward.js" "$@"
