//go:build !(linux && (amd64 || arm64))

package main

import "time"

// There is no run without the Go runtime here.

func earlyFailure(*options) error { return nil }

func begin() time.Time { return time.Now() }

func (*lockFile) openedEarly() (done bool, err error) { return false, nil }

func (*lockFile) lockedEarly() error { return nil }
