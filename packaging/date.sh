#!/bin/sh
# date.sh FORM SECONDS: print a time, in seconds since 1970, in UTC: touch: as touch -t takes it; mail: as in a changelog of
# Debian; rpm: as in one of RPM. It is not date(1), which takes seconds with an option that differs from system to system.
set -eu
[ $# = 2 ] || { echo "usage: date.sh FORM SECONDS" >&2; exit 64; }
exec awk -v form="$1" -v seconds="$2" '
	function days_of_year(y) { return y % 4 == 0 && y % 100 != 0 || y % 400 == 0 ? 366 : 365 }
	function days_of_month(y, m) { return m == 2 ? days_of_year(y) - 337 : m ~ /^(4|6|9|11)$/ ? 30 : 31 }
	BEGIN {
		days = int(seconds / 86400)
		seconds -= days * 86400
		weekday = substr("ThuFriSatSunMonTueWed", days % 7 * 3 + 1, 3)
		for (year = 1970; days >= days_of_year(year); year++) days -= days_of_year(year)
		for (month = 1; days >= days_of_month(year, month); month++) days -= days_of_month(year, month)
		name = substr("JanFebMarAprMayJunJulAugSepOctNovDec", month * 3 - 2, 3)
		day = days + 1
		hour = int(seconds / 3600); minute = int(seconds % 3600 / 60); second = seconds % 60
		if (form == "touch") printf "%04d%02d%02d%02d%02d.%02d\n", year, month, day, hour, minute, second
		else if (form == "mail") printf "%s, %02d %s %04d %02d:%02d:%02d +0000\n", weekday, day, name, year, hour, minute, second
		else if (form == "rpm") printf "%s %s %02d %04d\n", weekday, name, day, year
		else exit 64
	}'
