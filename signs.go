package main

import "example.org/flock/fallback"

// signsOf says what tells that a lock is over whose owner lives, or whose owner is dead and has a keeper.
func signsOf(o fallback.Owner) fallback.Signs {
	t := tagOf(o)
	s := fallback.Signs{Process: t.keeper.PID}
	if t.kind == byNumber {
		s.File, s.Ask = openFileSign([]int{o.PID, t.keeper.PID}, t.number, t.file)
	}
	return s
}
