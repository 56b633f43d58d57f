#!/bin/sh
# Copy to /usr/local/bin/troupe. For root: runs a command as the server's user, with the server's settings.
set -eu
if [ -r /etc/troupe/environment ]; then
    set -a
    . /etc/troupe/environment
    set +a
fi
export TROUPE_CONFIG=/etc/troupe/troupe.toml TROUPE_DATA=/var/lib/troupe
exec runuser -u troupe -- /opt/troupe/bin/troupe "$@"
