//go:build unix && !aix

package main

// supported refuses what this system has not got: nothing that the lock call
// would not refuse.
func supported(*options) error { return nil }
