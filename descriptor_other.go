//go:build unix && !linux

package main

import "syscall"

// Of other processes' descriptors nothing is known here.

func descriptorOwners(caller, fd int) (owner, keeper, number int) { return caller, 0, fd }

func sameDescriptor(pid, number, fd int) bool { return number == fd && pid == syscall.Getppid() }

func hasDescriptor(pid, fd int) bool { return false }

func (openedFile) closedBy(pid, number int, id string) bool { return false }

func (*lockFile) identity() string { return "" }
