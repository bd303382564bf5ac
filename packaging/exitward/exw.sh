#!/bin/sh
# Runs the account holder's command line by the Node of this package.
exec /usr/lib/exitward/bin/node --use-system-ca /usr/lib/exitward/client/bin/exw.js "$@"
