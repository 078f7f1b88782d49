package main

import (
	"errors"
	"strings"
	"syscall"
)

// What this system's errors mean for the exit status. They are texts, and each
// file server has its own.

func lacksMemory(err error) bool { return says(err, "memory") }

func lacksResources(err error) bool { return lacksMemory(err) || says(err, "no free file descriptors") }

func cannotCreate(err error) bool { return says(err, "read only", "read-only", "full") }

func lacksPermission(err error) bool { return says(err, "permission denied") }

func badDescriptor(error) bool { return false } // there are none to be locked

// nobodyReads reports whether a write failed as standard output is closed, or
// a pipe that nobody reads.
func nobodyReads(err error) bool { return says(err, "hungup", "closed pipe", "fd out of range") }

func says(err error, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(reason(err), text) {
			return true
		}
	}
	return false
}

var (
	errRange   = errors.New("out of range")
	errInvalid = errors.New("invalid argument")
)

// reason is the system's text for an error.
func reason(err error) string {
	var text syscall.ErrorString
	if errors.As(err, &text) {
		return string(text)
	}
	return err.Error()
}
