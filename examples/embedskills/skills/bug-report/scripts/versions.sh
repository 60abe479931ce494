#!/bin/sh
# Prints what a bug report needs to know of this machine.
uname -srm
git describe --tags --always 2>/dev/null || echo "no git repository here"
