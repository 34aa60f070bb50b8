#!/bin/sh
# Prints where grpc_csharp_plugin is. Where there is none in the PATH, it is built
# from gRPC's own source, which the Python package grpcio-tools carries, on Debian's
# protobuf: needs g++, pip, libprotoc-dev and libabsl-dev, and installs the last two
# with apt-get if it may. The program is kept in the user's cache.
set -eu
version=1.85.1

if command -v grpc_csharp_plugin; then exit; fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/llmd-ci/grpc_csharp_plugin-$version
if [ -x "$cache/grpc_csharp_plugin" ]; then
  echo "$cache/grpc_csharp_plugin"
  exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec 3>&1 1>&2 # what the steps say is not the answer

if [ ! -e /usr/include/google/protobuf/compiler/csharp/csharp_names.h ] || [ ! -e /usr/include/absl/status/status.h ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends g++ libprotoc-dev libabsl-dev
fi
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary grpcio-tools \
  --dest "$work" "grpcio-tools==$version"
tar -xzf "$work"/grpcio*tools-$version.tar.gz -C "$work" --strip-components=1

# The header was called otherwise in Debian's release of protobuf.
names=google/protobuf/compiler/csharp
mkdir -p "$work/shim/$names" "$cache"
echo "#include <$names/csharp_names.h>" >"$work/shim/$names/names.h"
cd "$work/grpc_root"
g++ -std=c++17 -O1 -I. -Iinclude -I"$work/shim" src/compiler/csharp_plugin.cc src/compiler/csharp_generator.cc \
  src/compiler/proto_parser_helper.cc -lprotoc -lprotobuf -o "$work/grpc_csharp_plugin"
mv "$work/grpc_csharp_plugin" "$cache/grpc_csharp_plugin.$$"
mv "$cache/grpc_csharp_plugin.$$" "$cache/grpc_csharp_plugin"
echo "$cache/grpc_csharp_plugin" >&3
