// Package fallback locks files on systems and filesystems that have no locks of their own: exclusively, shared, or with
// a limited number of permits.
//
// You may use it if every process that locks the file uses it, if all may write to the directory of the file and to the
// state directory that the first of them makes there, and if the filesystem has FIFOs: any local one, and NFS. Then an
// exclusive holder is alone, and there are never more holders of permits than allowed. If the last holder dies, at
// whatever moment, the lock is free at once for processes that can see this: in the same kernel, by the same mount and,
// for the lock of an open file, in the same pid namespace. For others it stays held. Age never makes a lock stale.
//
// You must not use it beside kernel locks of the same file, on directories that are synchronized rather than shared
// (Dropbox, rsync), on machines that are copies of one running snapshot or of one disk image with one name, or where
// nobody can remove by hand the locks of a machine that is gone for good.
//
// The lock of an open file (OpenFile) promises less. It counts as free if the only process that has the file passes it
// through a socket during a search; may not be looked into by its own user, such as a set-user-id child or whatever is
// outside of the caller's sandbox; is outside of the caller's pid namespace; is older than the one that locked, and
// another user's or moves the file meanwhile; or has it only mapped. It also does if a program clears the flag, or the
// inode number changes: flock-directory(7) has the whole list. And a process that has locked two open files of one
// file, and has closed or moved one of them, keeps both locks, so also two permits, until it has closed both.
//
// StateDir, Open, Acquire and Unlock are all that most programs need:
//
//	dir, err := fallback.StateDir("counter", "")
//	if err != nil {
//		return err
//	}
//	lock := fallback.Open(dir, "counter", -1)
//	if err := lock.Acquire(ctx, fallback.Request{Mode: fallback.Exclusive}); err != nil {
//		return err // after the deadline a *fallback.LockedError, which says who has the lock
//	}
//	defer lock.Unlock()
//
// It promises no order among waiters, though mostly the first to come is the next holder. An upgrade that must wait
// gives up its shared lock first. Each Lock of one process is a holder of its own.
//
// # The idea
//
// A holder keeps a FIFO open, its lifeline, in a directory beside the file. Anybody can ask the kernel whether a FIFO
// still has a reader: if not, open(2) for writing only, without waiting, fails with ENXIO. That is exact, however the
// last reader has gone, and the same in all pid namespaces of a kernel that show one boot id (LXC and systemd-nspawn(1)
// give each container its own). A process that inherits the lifeline has the lock, too, and poll(2) tells a waiter when
// the last one is gone. On Windows a lifeline is a named event, which exists as long as a process has a handle.
//
// # What is believed
//
// What a contender has not seen for itself counts as held, except what a search for an open file can miss, see above.
// It tells others only what it knows. It asks a lifeline only about an owner in the same kernel that sees the directory
// by the same mount, because a FIFO lives in one of each. Any other owner counts as alive, and errors name it, unless it
// is of an earlier boot of this machine: a contender knows that if the host name and the machine-id (on macOS the
// number of the hardware) are the same, outside of containers. A contender that cannot tell is refused.
//
// # The names
//
// The names in the state directory are the whole state. They are names of FIFOs, which "find -type f" and
// systemd-tmpfiles(8) pass over. An ID is never reused: version, time of arrival, process id, a random number; then the
// user and its group, and the machine: host, machine-id(5), boot, pid namespace, device of the directory. The system
// does reuse the numbers of processes and namespaces, so an ID also has the start time of the process, and that of
// process 1 of its namespace.
//
//	free | busy,ID           the token, one name that is renamed: its owner may change who holds the lock
//	new,ID                   a lifeline that is not open yet
//	wait,ID@MODE             the lifeline of a waiter, which is its bell, too
//	excl,ID                  the lifeline of a holder; also shared,ID and permit,ID@NUMBER
//	excl,ID@LOCATION         no lifeline: the holder is an open file, see below; also permit,ID@NUMBER@LOCATION
//
// An ID begins with the version of the names. A contender that finds a holder or a busy token of another version
// refuses the lock; the free token has no version, so a directory that nobody uses serves all. The owner of the token
// removes the dead, and then chooses as the number of a permit the lowest that no holder has; a holder in doubt keeps
// its own.
//
// # The moves
//
//	make       make the directory, with the name free in it, in another one beside it, and rename it to its place
//	come       make new,ME, open it, rename it to wait,ME
//	look       list the names: does a holder that lives keep us out?
//	take       rename free to busy,ME; or busy,X to busy,ME, if the lifeline of X is dead
//	enter      with the token: ask our own lifeline, as others will: if it does not answer, no lifeline does here;
//	           search for what is in our way and not where its record says; remove the dead; if nobody keeps us out,
//	           rename wait,ME to excl,ME; then busy,ME to free: when this succeeds, we hold the lock
//	release    close the lifeline; if nobody else has it, remove its name
//	discard    with the token, if nobody else is there: rename the directory away, and remove it. A thief of the token
//	           opens the path anew first, so nobody enters by a directory that was moved
//
// Only the owner of the token adds a holder or removes a dead one. An ID is unique in history, and the dead stay dead.
// A living owner may have the same name again (excl, shared, excl), but the name of a dead one never comes to mean
// something that lives. So renaming it is a compare-and-swap: the token of a dead owner goes to exactly one thief. A
// process that dies anywhere leaves names without readers, which the next contender removes. An operation that fails is
// like a death: the contender puts the token back if it can, and closes the lifeline, but keeps its name. Over NFS a
// rename can fail and still be carried out, even later: whoever finds the token ours then finds us dead.
//
// A token that has not changed for a second and ten looks keeps out whoever wants it, and the error names its owner. If
// there is none or several, or the owner has no lifeline, a person has to remove the directory, and the error says so.
//
// A process that has inherited a lifeline can only close it.
//
// # Waiting
//
// Each waiter watches the lifeline of the one before it, which becomes the holder's: a hand-over wakes one process. The
// first one watches what keeps it out, and so does one that cannot tell whether the one before it still lives. A holder
// of a shared lock or a permit rings the next waiter that may enter beside it when it enters. When it releases, it rings
// the first waiter and the first that may share the lock: by a byte in the waiter's FIFO. Waiters find whatever they
// missed by a look each second, behind the first eight every ten. Between machines only that look helps. Only Linux
// reports the end of a lifeline to whoever sleeps. Elsewhere a process that releases rings these two, and each waiter
// looks after a twentieth of the time that it has waited, at least four times a second.
//
// # The lock of an open file
//
// flock(1) cannot leave a lifeline in the shell that calls it with a descriptor. There the open file itself has the
// lock (OpenFile, on Linux). A status flag that means nothing to files marks it; the kernel keeps the flag as long as a
// process has the file, and shows it in /proc/PID/fdinfo. A signal number, by fcntl(F_SETSIG), says which record is
// that of the open file. The record says in which process, under which number, the file was, and its device and inode.
// The record is made before the mark, and removed after it.
//
// If the file is not there, a contender that has the token searches all processes. So one searches at a time, and all
// marks are set that ever will: who makes a record and marks the file has the token. It searches only for what may keep
// it out, what its own mark would hide, and where no signal is free. What it finds it writes into the names; what cannot
// be written down, such as one open file where two are lost, it does not search for again within a second. It renames
// its lifeline every half second, so that nobody takes it for stopped. A search that finds nothing proves that the lock
// is free, if it has seen all processes that could have the file: for a record of another user, or of another group of the
// same user, no process of that user or group that was started later refused the look; for one of another pid
// namespace, the searcher is root. For a record of its own user and group, it passes over processes that refuse: every
// login has some. A look into a process that was started after the one in the record proves something if the process
// has slept through it; otherwise the search repeats it. An older process can have the file, too, if one between the
// two has ended; the search looks into it once. If it finds the file, it renames the record to say where. The first
// waiter looks after a twentieth of the time that it has waited, at least four times a second.
package fallback
