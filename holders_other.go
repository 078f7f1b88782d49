//go:build !linux

package main

// Of other processes nothing is known here but the id.

func processUser(int) string    { return "-" }
func processCommand(int) string { return "-" }
