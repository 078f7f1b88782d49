package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"example.org/flock/fallback"
)

// A counter in a file, which only one process at a time may change.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "counter")
	if err := os.WriteFile(path, []byte("41"), 0o666); err != nil {
		log.Fatal(err)
	}

	state, err := fallback.StateDir(path, "")
	if err != nil {
		log.Fatal(err)
	}
	lock := fallback.Open(state, path, -1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = lock.Acquire(ctx, fallback.Request{Mode: fallback.Exclusive})
	if errors.As(err, new(*fallback.LockedError)) {
		log.Fatal("after a minute it is still ", err) // held by process 123
	} else if err != nil {
		log.Fatal(err)
	}

	var n int
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = fmt.Sscan(string(text), &n)
	}
	if err == nil {
		err = os.WriteFile(path, []byte(fmt.Sprint(n+1)), 0o666)
	}
	if e := lock.Unlock(); err == nil {
		err = e
	}
	fmt.Println(n+1, err)
	// Output: 42 <nil>
}
