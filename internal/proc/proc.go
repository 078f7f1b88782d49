// Package proc asks the system about processes. Unknown values are zero; only Linux tells most of them.
package proc
