package cstart

import "os"

// Windows has no signal dispositions and no closed standard descriptors that a command could inherit.

// IsLibrary says that the runtime calls main.main.
const IsLibrary = false

// Getenv looks a variable up.
func Getenv(name string) (value string, set bool) { return os.LookupEnv(name) }

// Setenv sets a variable, also for programs that this process starts.
func Setenv(name, value string) { os.Setenv(name, value) }

// Unsetenv removes a variable, likewise.
func Unsetenv(name string) { os.Unsetenv(name) }

// CatchAlarm has nothing to do: there is no SIGALRM.
func CatchAlarm() {}
