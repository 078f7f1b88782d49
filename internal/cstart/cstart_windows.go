package cstart

import "os"

// Windows has no signal dispositions and no closed standard descriptors that a command could inherit.

const IsLibrary = false

func Getenv(name string) (value string, set bool) { return os.LookupEnv(name) }

func CatchAlarm() {}
