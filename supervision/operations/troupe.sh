#!/bin/sh
# Copy to /usr/local/bin/troupe. For root: runs a command as the server's user, with the server's settings.
set -eu
# As systemd reads it: to a shell, a password with $ ; & or # in it would be something else. A backslash makes the next
# character plain; in double quotes only before " \ ` and $, and in single quotes not at all.
if [ -r /etc/troupe/environment ]; then
    while read -r line || [ -n "$line" ]; do
        case $line in TROUPE_*=*) ;; *) continue ;; esac
        case ${line#*=} in
            \'*) ;;
            \"*) line=$(printf '%s' "$line" | sed 's/\\\(["\\`$]\)/\1/g') ;;
            *) line=$(printf '%s' "$line" | sed 's/\\\(.\)/\1/g') ;;
        esac
        export "$line"
    done < /etc/troupe/environment
fi
export TROUPE_CONFIG=/etc/troupe/troupe.toml TROUPE_DATA=/var/lib/troupe
exec runuser -u troupe -- /opt/troupe/bin/troupe "$@"
