// Package proc asks the system about processes and their locks. An unknown value is zero, an unknown command line "-";
// only Linux tells most of them.
package proc
