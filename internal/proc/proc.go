// Package proc asks the system about processes. What a system does not tell is empty: Linux alone tells most of it.
package proc
