#!/bin/sh
# The file tree of the image: a static binary and the few files it needs.
#
#   rootfs.sh LLMD DIR     LLMD is the binary, DIR must not exist yet
#
# The Dockerfile runs it, and so does the test, which starts the binary inside.
set -eu
llmd=$1 dir=$2
[ ! -e "$dir" ] || { echo "$dir exists" >&2; exit 1; }

# Authorities of the machine that builds the image, as a distribution keeps them.
ca=${CA_CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}

mkdir -p "$dir/etc/ssl/certs" "$dir/etc/llmd" "$dir/run/llmd" "$dir/tmp"
install -m 0755 "$llmd" "$dir/llmd"
install -m 0644 "$ca" "$dir/etc/ssl/certs/ca-certificates.crt"
printf 'llmd:x:65532:65532::/nonexistent:/nologin\n' >"$dir/etc/passwd"
printf 'llmd:x:65532:\n' >"$dir/etc/group"
chmod 1777 "$dir/tmp"
# Sockets for others in the group; everything else is read only at run time.
chown 65532:65532 "$dir/run/llmd"
chmod 0750 "$dir/run/llmd"
