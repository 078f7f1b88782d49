#!/bin/sh
# page.sh etcd|postgres: print the manual of flock-etcd or flock-postgres, which flock-backend.1.in has. What follows a
# line `.\" etcd:` there is in the one page only, what follows `.\" postgres:` in the other, up to `.\" both:`.
set -eu
case $1 in
etcd) server=etcd lease=lease ;;
postgres) server=PostgreSQL lease=row ;;
*) echo "page.sh: there is no backend $1" >&2; exit 64 ;;
esac
sed -e "s/@NAME@/$1/g" -e "s/@SERVER@/$server/g" -e "s/@LEASE@/$lease/g" "${0%/*}/flock-backend.1.in" |
	awk -v page="$1:" '/^\.\\" (etcd|postgres|both):$/ { isOfOther = $2 != "both:" && $2 != page; next } !isOfOther'
