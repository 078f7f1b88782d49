// Package direct asks the system what the standard library asks in ways that cost too much here: with more system
// calls, or with descriptors of its own.
package direct
