#!/bin/sh
# Runs the account holder's command line by the Node of this package.
exec /usr/lib/exitward/bin/node /usr/lib/exitward/client/bin/exw.js "$@"
