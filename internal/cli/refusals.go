package cli

import (
	"cmp"

	"example.org/flock/internal/failure"
	"example.org/flock/internal/locks"
)

// What cannot be combined, and why. Of several lines that apply the first one is the error.

// A clash is something that an option cannot be combined with, if it is there.
type clash struct {
	is   bool
	with string // and why, if that is not plain
}

// refuse returns the error for the first of these clashes of an option that is given.
func refuse(isGiven bool, option string, clashes ...clash) error {
	for _, c := range clashes {
		if isGiven && c.is {
			return failure.Usage(option + " cannot be combined with " + c.with)
		}
	}
	return nil
}

// checkOptions refuses options that cannot be combined, whatever file and command come behind them.
func (p *parser) checkOptions() error {
	o := &p.o
	if o.NoFork && o.Close {
		return failure.Usage("the --no-fork and --close options are incompatible")
	}
	isShared, isFcntl := o.Op == locks.Shared, p.isFcntl()
	return cmp.Or(
		refuse(o.Permits > 0, "--permits", clash{isShared, "--shared"}),
		// Two holders could read the time at once, and then both set it.
		refuse(o.Cooldown > 0, "--cooldown", clash{o.Permits > 0 || isShared, "--shared or --permits"}),
		refuse(o.Permits > 0, "--permits", clash{isFcntl, "--fcntl, --start or --length"}),
		refuse(p.isGiven("queue", "report"), "--queue and --report", clash{o.Op == locks.Unlock, "--unlock"}),
	)
}

// checkAction refuses options that do not fit what is to be done, when the file and the command are known.
func (p *parser) checkAction() error {
	o := &p.o
	onlyAsks, unlocks, hasNoCommand := o.Action != Lock, o.Op == locks.Unlock, len(o.Command) == 0
	if p.isGiven("cooldown-from") && !p.isGiven("cooldown") {
		return failure.Usage("--cooldown-from needs --cooldown")
	}
	asks, needsGuard := "--holders", "--replace" // the options of that name, or of the same kind
	if o.Action == Break {
		asks = "--break"
	}
	if o.Limit > 0 {
		needsGuard = "--limit"
	} else if o.KillChildren {
		needsGuard = "--kill-children"
	}
	fromEnd := p.isGiven("cooldown-from") && o.CooldownFrom != FromStart
	replaces := o.Replace && !onlyAsks && !unlocks && !o.NoFork // else see the options that end the command
	return cmp.Or(
		refuse(p.isGiven("cooldown-from"), "--cooldown-from",
			clash{onlyAsks, asks + ", which runs no command"},
			clash{unlocks, "--unlock: there the cooldown counts from the unlocking"}),
		refuse(fromEnd, "--cooldown-from end or success",
			clash{o.NoFork, "--no-fork: nobody would be left to see the end"},
			clash{hasNoCommand, "a descriptor number alone: they need a command"}),
		refuse(o.Remove, "--remove",
			clash{o.Action == Holders, "--holders, which locks nothing"},
			clash{o.FD >= 0, "a descriptor: it needs the file and a command"},
			clash{unlocks, "--unlock: a lock is needed to remove the file"},
			clash{o.NoFork, "--no-fork: nobody would be left to remove the file"},
			clash{o.Queued, "--queue, whose places are in the file"},
			clash{o.Cooldown > 0, "--cooldown, whose end is kept in the file"},
			clash{p.isGiven("start", "length"), "--start or --length: others may use the rest of the file"}),
		refuse(replaces, "--replace",
			clash{p.isGiven("queue"), "--queue: only the newest waiter stays"},
			clash{o.Nonblock, "--nonblocking or a timeout of 0: a run waits until the one before is gone"},
			clash{o.Op == locks.Shared || o.Permits > 0, "--shared or --permits: it is for one holder"},
			clash{o.FD >= 0, "a descriptor: it needs the file and a command"},
			clash{o.Cooldown > 0, "--cooldown, which would keep the next run out"},
			clash{o.Remove, "--remove: a run that has another file would not be found"},
			clash{o.Backend == Fcntl, "--fcntl, --start, --length or the backend fcntl: such a lock covers the bytes " +
				"that stand for runs"},
			clash{o.Backend == Directory, "the backend directory: it needs locks of the kernel"}),
		refuse(o.HasGuard(), needsGuard, // they are about a command that flock starts
			clash{onlyAsks, asks + ", which runs no command"},
			clash{unlocks, "--unlock, which runs no command that has the lock"},
			clash{o.NoFork, "--no-fork: nobody would be left to end the command"},
			clash{hasNoCommand, "a descriptor number alone: there is no command to end"}),
	)
}
